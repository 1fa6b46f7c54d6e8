import type { Duration } from '@leasehold/core'

/** The settings from the environment. The SDK checks the durations, by name, when the locker is created. */
export interface Settings {
  readonly port: number
  readonly host: string
  readonly redisUrl: string
  /** Names this worker in the ledger. It is also shown to whoever inspects its locks. */
  readonly name: string
  readonly lockTtl: Duration
  /** How long the stand-ins for real work take, in milliseconds. */
  readonly workMs: number
  /** How often the scheduler checks what is due, in milliseconds. */
  readonly tickMs: number
}

/** @throws Error that names the wrong variable */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    port: wholeNumber('PORT', env['PORT'] ?? '3000'),
    host: env['HOST'] ?? '127.0.0.1',
    redisUrl: env['REDIS_URL'] || 'redis://127.0.0.1:6379',
    name: env['WORKER_NAME'] ?? `worker-${process.pid}`,
    lockTtl: (env['LOCK_TTL'] ?? '10s') as Duration,
    workMs: wholeNumber('WORK_MS', env['WORK_MS'] ?? '100'),
    tickMs: wholeNumber('TICK_MS', env['TICK_MS'] ?? '1000'),
  }
}

function wholeNumber(name: string, value: string): number {
  if (!/^\d{1,5}$/.test(value)) throw new Error(`${name} must be a whole number, not "${value}"`)
  return Number(value)
}
