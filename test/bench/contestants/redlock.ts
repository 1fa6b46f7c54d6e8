import { connectIoredis } from './connect-ioredis.ts'
import { type Contestant, ttlMs as defaultTtlMs, waitMs } from './contestant.ts'
import { heldWithin } from './redlock-universal.ts'

/** With its defaults: eleven tries, 100 to 300 ms apart. Under contention it gives up. */
export const redlock: Contestant = variant('redlock', {})

/** Polls every 25 to 75 ms for as long as the others wait. */
export const redlock50: Contestant = variant('redlock-50', {
  retryCount: waitMs / 50,
  retryDelay: 50,
  retryJitter: 25,
})

interface Settings {
  readonly retryCount?: number
  readonly retryDelay?: number
  readonly retryJitter?: number
}

function variant(name: string, settings: Settings): Contestant {
  return {
    name,
    role: 'other',
    client: 'ioredis',
    sends: ['evalsha', 'eval'],
    async connect(port) {
      const { default: Redlock } = await import('redlock')
      const locks = new Redlock([await connectIoredis(port)], settings)
      return {
        acquire: (key, ttlMs = defaultTtlMs) => locks.acquire([key], ttlMs),
        keep: (key, ttlMs) => heldWithin((work) => locks.using([key], ttlMs, work)),
      }
    },
  }
}
