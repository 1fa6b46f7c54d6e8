import { type Ledger, type LedgerEntry, type Records, SupersededError } from './records.ts'

/**
 * Records and ledger of one process. Each call runs to its end before another begins, so calls are atomic without a
 * script.
 */
export function memoryRecords(): Records & Ledger {
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
    async commit(key, value, effect) {
      const record = take(key, effect.fence)
      if (record.value === value) return
      record.value = value
      ledger.push({ type: 'effect', ...effect })
    },
    append: async (entry) => void ledger.push(entry),
    entries: async () => ledger,
  }
}
