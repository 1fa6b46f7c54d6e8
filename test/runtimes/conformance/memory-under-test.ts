import { ManualClock } from '@leasehold/testkit'
import type { StoreUnderTest } from '@leasehold/testkit/conformance'
import { MemoryStore } from '../../../packages/core/src/memory/memory-store.ts'
import { openTables } from '../../../packages/core/src/memory/tables.ts'

/** The embedded store on a manual clock. */
export function memoryUnderTest(): StoreUnderTest {
  const clock = new ManualClock()
  const tables = openTables(clock)
  const fenceMemoryMs = 600_000
  const store = new MemoryStore(clock, fenceMemoryMs, tables)
  const now = (): number => clock.monotonicMs()
  const leftMs = (at: number): number | null => (at === Infinity ? null : at - now())
  return {
    store,
    fenceMemoryMs,
    admin: {
      remove: async (key) => tables.locks.delete(key),
      replace: async (key, ms, value = 'foreign-holder') =>
        tables.locks.set(key, value, ms === null ? Infinity : now() + ms, now()),
      async expiresInMs(key) {
        const entry = tables.locks.get(key, now())
        return entry && leftMs(entry.expiresAtMs)
      },
      // Only those that have not expired: no timer frees the others here, later calls do.
      entriesOf: async (key) =>
        Object.entries(tables).flatMap(([table, entries]) =>
          [...entries.keys()].flatMap((name) => {
            const entry = name.includes(key) ? entries.get(name, now()) : undefined
            return entry ? [{ name: `${table}:${name}`, expiresInMs: leftMs(entry.expiresAtMs) }] : []
          }),
        ),
    },
    advance: (ms) => clock.advance(ms),
    async listen(key) {
      const payloads: string[] = []
      const stop = store.listen(key, (payload) => payloads.push(payload))
      return { payloads, close: async () => stop() }
    },
    async listenInbox(inbox) {
      const payloads: string[] = []
      const stop = store.listenInbox(inbox, (payload) => payloads.push(payload))
      return { payloads, close: async () => stop() }
    },
    setWallClockBack: (ms) => clock.stepWall(-ms),
    close: async () => undefined,
  }
}
