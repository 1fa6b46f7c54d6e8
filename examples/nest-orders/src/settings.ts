import type { Duration } from '@leasehold/core'
import { couponLimits } from '@leasehold/example-shop/coupons'

/** The settings from the environment. A decorator is made with its class, so they are read when the program starts. */
const { env } = process

export const redisUrl: string = env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
export const port = Number(env['PORT'] ?? '3000')
export const serverName: string = env['SERVER_NAME'] ?? `nest-${process.pid}`
/** What the service's own keys in Redis begin with. */
export const dataPrefix: string = env['DATA_PREFIX'] ?? 'shop:'
/** How many of each coupon there are. */
export const coupons: ReadonlyMap<string, number> = couponLimits(env['COUPONS'] ?? 'welcome:100')
/** How long an order takes, in milliseconds. */
export const workMs = Number(env['WORK_MS'] ?? '2000')
/** How soon others get the lock of an order after its holder has died. */
export const ttl = (env['LOCK_TTL'] ?? '30s') as Duration
/** How long a caller waits for the lock of an order. */
export const wait = (env['LOCK_WAIT'] ?? '3s') as Duration
/** What a caller is told who has waited for that long. */
export const failureMessage = 'This order is being processed; try again'
