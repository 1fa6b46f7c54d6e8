import type { Duration } from '@leasehold/core'
import { couponLimits } from '@leasehold/example-shop/coupons'

/**
 * The settings from the environment. Decorators run when their class is defined, so the settings are read when the
 * program starts.
 */
const { env } = process

export const redisUrl: string = env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
export const port = Number(env['PORT'] ?? '3000')
export const serverName: string = env['SERVER_NAME'] ?? `nest-${process.pid}`
/** The prefix of the service's own keys in Redis. */
export const dataPrefix: string = env['DATA_PREFIX'] ?? 'shop:'
/** How many of each coupon there are. */
export const coupons: ReadonlyMap<string, number> = couponLimits(env['COUPONS'] ?? 'welcome:100')
/** How long an order takes, in milliseconds. */
export const workMs = Number(env['WORK_MS'] ?? '2000')
/** How soon others can get an order's lock after its holder has died. */
export const ttl = (env['LOCK_TTL'] ?? '30s') as Duration
/** How long a caller waits for an order's lock. */
export const wait = (env['LOCK_WAIT'] ?? '3s') as Duration
/** The message for a caller who has waited that long. */
export const failureMessage = 'This order is being processed; try again'
