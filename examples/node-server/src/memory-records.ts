import type { LedgerEntry } from './ledger.ts'
import { type Records, SupersededError } from './records.ts'

/** Records of one process. JavaScript runs each of these to its end, so they need no script to be atomic. */
export function memoryRecords(): Records {
  const records = new Map<string, { fence: number; value: string | null }>()
  const ledger: LedgerEntry[] = []

  function take(key: string, fence: number): { fence: number; value: string | null } {
    const record = records.get(key) ?? { fence, value: null }
    if (fence < record.fence) throw new SupersededError(key)
    records.set(key, record)
    record.fence = fence
    return record
  }

  return {
    peek: async (key) => records.get(key)?.value ?? null,
    open: async (key, fence) => take(key, fence).value,
    async commit(key, value, entry) {
      const record = take(key, entry.fence)
      if (record.value === value) return
      record.value = value
      ledger.push(entry)
    },
    append: async (entry) => void ledger.push(entry),
    ledger: async () => ledger,
  }
}
