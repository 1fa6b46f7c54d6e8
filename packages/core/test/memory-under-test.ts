import { ManualClock } from '@leasehold/testkit'
import type { StoreUnderTest } from '@leasehold/testkit/conformance'
import { sharesBetweenCalls } from '#sharing'
import { MemoryStore } from '../src/memory/memory-store.ts'
import { openTables } from '../src/memory/tables.ts'

/** The embedded store on a manual clock. */
export function memoryUnderTest(): StoreUnderTest {
  const clock = new ManualClock()
  const tables = openTables(clock)
  const fenceMemoryMs = 600_000
  const store = new MemoryStore(clock, fenceMemoryMs, tables)
  const now = (): number => clock.monotonicMs()
  const leftMs = (expiresAtMs: number): number | null => (expiresAtMs === Infinity ? null : expiresAtMs - now())

  return {
    store,
    fenceMemoryMs,
    admin: {
      async remove(key) {
        tables.locks.delete(key)
      },
      async replace(key, expiresInMs, value = 'foreign-holder') {
        tables.locks.set(key, value, expiresInMs === null ? Infinity : now() + expiresInMs, now())
      },
      async expiresInMs(key) {
        const entry = tables.locks.get(key, now())
        return entry && leftMs(entry.expiresAtMs)
      },
      async entriesOf(key) {
        return Object.entries(tables).flatMap(([table, entries]) =>
          // What has expired and is still in memory counts as an entry, too, but on Workers: no timer frees it there, later calls do.
          [...entries.keys()]
            .filter((name) => name.includes(key) && (sharesBetweenCalls() || entries.get(name, now())))
            .map((name) => ({
              name: `${table}:${name}`,
              expiresInMs: leftMs(entries.get(name, now())?.expiresAtMs ?? 0),
            })),
        )
      },
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
