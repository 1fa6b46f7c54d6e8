import { guardedSet } from '@leasehold/core/fencing'
import type { RedisTransport } from '@leasehold/core/redis'
import { elapse } from '../support/scale.ts'

export interface FencedWrites {
  /** The fences of the writes that the guard accepted, in the order in which the server carried them out. */
  readonly accepted: readonly number[]
  /** The fences of those that it refused. */
  readonly refused: readonly number[]
  /** Writes over and over with one fence, as its holder would. Returns a function that ends that. */
  begin(transport: RedisTransport, fence: number): () => Promise<void>
}

/**
 * Several holders that write to one guarded entry. A write is sent when the one before it has settled, whoever made
 * that, so the record is in the server's own order.
 */
export function fencedWrites(entry: string): FencedWrites {
  const [accepted, refused]: [number[], number[]] = [[], []]
  let last: Promise<void> = Promise.resolve()
  async function write(transport: RedisTransport, fence: number): Promise<void> {
    // A cluster that is missing a node may refuse every write for a while.
    const outcome = await guardedSet(transport, entry, String(fence), { fence }).catch(() => undefined)
    if (outcome) (outcome.stored ? accepted : refused).push(fence)
  }
  return {
    accepted,
    refused,
    begin(transport, fence) {
      let stopped = false
      const loop = async (): Promise<void> => {
        while (!stopped) {
          last = last.then(() => write(transport, fence))
          await last
          await elapse(2)
        }
      }
      const ended = loop()
      return async () => {
        stopped = true
        await ended
      }
    },
  }
}
