import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectIoredis } from '../contestants/connect-ioredis.ts'
import { ttlMs } from '../contestants/contestant.ts'
import { nowMs } from '../measure/clock.ts'

/** How many times to measure, and how far apart: a connection that rests in between is slower than a busy one. */
export interface Series {
  readonly count: number
  readonly everyMs: number
}

/** The jobs of a process with nothing but a client: no lock between processes can be faster. */
export function floorJobs(port: number) {
  const listening = new Map<string, Promise<readonly number[]>>()

  return {
    /** Subscribes; a second call returns when each message came, once `count` have come. */
    async listen({ channel, count }: { readonly channel: string; readonly count: number }): Promise<readonly number[]> {
      const known = listening.get(channel)
      if (known) return known
      const redis = await connectIoredis(port)
      const times: number[] = []
      const heard = new Promise<readonly number[]>((resolve) => {
        redis.on('message', () => {
          if (times.push(nowMs()) === count) resolve(times)
        })
      })
      listening.set(channel, heard)
      await redis.subscribe(channel)
      return []
    },

    /** Publishes, and returns when each message was sent. */
    async announce({ channel, count, everyMs }: Series & { readonly channel: string }): Promise<readonly number[]> {
      const redis = await connectIoredis(port)
      const times: number[] = []
      while (times.length < count) {
        await sleep(everyMs)
        times.push(nowMs())
        await redis.publish(channel, 'released')
      }
      return times
    },

    /** How long each SET NX PX took, in milliseconds. */
    async roundTrips({ count, everyMs }: Series): Promise<readonly number[]> {
      const redis = await connectIoredis(port)
      const key = `round-trip-${randomUUID()}`
      const times: number[] = []
      while (times.length < count) {
        await sleep(everyMs)
        const from = nowMs()
        await redis.set(key, 'held', 'PX', ttlMs, 'NX')
        times.push(nowMs() - from)
      }
      return times
    },
  }
}
