import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import type { Backend } from './backend.ts'
import { memoryRecords } from './memory-records.ts'
import type { Settings } from './settings.ts'

/** The embedded store. Two servers with one each would not exclude each other: run one. */
export function memoryBackend({ fenceMemory }: Pick<Settings, 'fenceMemory'>): Backend {
  const store = memoryStore({ fenceMemory })
  return {
    description: 'the embedded store (no REDIS_URL: one process only, nothing is kept after it)',
    store,
    notifier: memoryNotifier(store),
    records: memoryRecords(),
    check: async () => undefined,
    close: async () => undefined,
  }
}
