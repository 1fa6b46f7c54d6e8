import type { Contestant, Held } from './contestant.ts'

/**
 * Waiters of one process and nothing else: no store, no lease, no time limit. The lower bound of an in-process
 * hand-off.
 */
export const promiseQueue: Contestant = {
  name: 'promise-queue',
  role: 'floor',
  client: 'memory',
  sends: [],
  async connect() {
    const lines = new Map<string, (() => void)[]>()
    return {
      async acquire(key): Promise<Held> {
        const line = lines.get(key)
        if (line) await new Promise<void>((resolve) => line.push(resolve))
        else lines.set(key, [])
        return {
          async release() {
            const next = lines.get(key)?.shift()
            if (next) next()
            else lines.delete(key)
          },
        }
      },
    }
  },
}
