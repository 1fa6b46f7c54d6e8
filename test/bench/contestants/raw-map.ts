import { randomUUID } from 'node:crypto'
import { type Contestant, ttlMs as defaultTtlMs, type Held } from './contestant.ts'

/** The embedded store's lower bound: tokens with an expiry in a map, behind promises. Does not wait. */
export const rawMap: Contestant = {
  name: 'raw-map',
  role: 'floor',
  client: 'memory',
  sends: [],
  async connect() {
    const locks = new Map<string, { readonly token: string; readonly endsAt: number }>()
    return {
      async acquire(key, ttlMs = defaultTtlMs): Promise<Held> {
        const now = performance.now()
        if ((locks.get(key)?.endsAt ?? 0) > now) throw new Error(`${key} is held`)
        const token = randomUUID()
        locks.set(key, { token, endsAt: now + ttlMs })
        return { release: async () => locks.get(key)?.token === token && locks.delete(key) }
      },
    }
  },
}
