import type { Duration } from '@leasehold/core'
import { couponLimits } from '@leasehold/example-shop/coupons'

/** The settings from the environment. The SDK checks the durations, by name, when the locker is created. */
export interface Settings {
  readonly port: number
  readonly host: string
  /** Without it, everything is kept in this process's memory. */
  readonly redisUrl: string | undefined
  /** Names this server in its answers. It is also shown to whoever inspects its locks. */
  readonly name: string
  readonly lockPrefix: string
  readonly lockTtl: Duration
  readonly lockWait: Duration
  readonly fenceMemory: Duration
  /** The prefix of the service's own keys. */
  readonly dataPrefix: string
  /** How many of each coupon there are. */
  readonly coupons: ReadonlyMap<string, number>
  /** How long the stand-in for a payment takes, in milliseconds. */
  readonly workMs: number
  /** Whether every hold is written to the ledger, so that anyone can check it. */
  readonly audit: boolean
  /** False only to show what goes wrong without locks. */
  readonly locks: boolean
}

/** @throws Error that names the wrong variable */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    port: wholeNumber('PORT', env['PORT'] ?? '3000'),
    host: env['HOST'] ?? '127.0.0.1',
    redisUrl: env['REDIS_URL'] || undefined,
    name: env['SERVER_NAME'] ?? `server-${process.pid}`,
    lockPrefix: env['LOCK_PREFIX'] ?? 'lock:',
    lockTtl: (env['LOCK_TTL'] ?? '10s') as Duration,
    lockWait: (env['LOCK_WAIT'] ?? '5s') as Duration,
    fenceMemory: (env['FENCE_MEMORY'] ?? '10m') as Duration,
    dataPrefix: env['DATA_PREFIX'] ?? 'shop:',
    coupons: couponLimits(env['COUPONS'] ?? 'welcome:100,launch:3'),
    workMs: wholeNumber('WORK_MS', env['WORK_MS'] ?? '20'),
    audit: onOrOff('AUDIT', env['AUDIT'] ?? 'off'),
    locks: onOrOff('LOCKS', env['LOCKS'] ?? 'on'),
  }
}

function wholeNumber(name: string, value: string): number {
  if (!/^\d{1,5}$/.test(value)) throw new Error(`${name} must be a whole number, not "${value}"`)
  return Number(value)
}

function onOrOff(name: string, value: string): boolean {
  if (value !== 'on' && value !== 'off') throw new Error(`${name} must be "on" or "off", not "${value}"`)
  return value === 'on'
}
