import { about, LeaseholdError } from '../errors.ts'

/**
 * Puts the key into the message of a store's error about one lock of several, because the caller has named more than
 * one.
 */
export function naming(key: string, error: unknown): unknown {
  if (!(error instanceof LeaseholdError) || !ofStore.includes(error.code)) return error
  return about(key, error, { message: `Lock "${key}": ${error.message}` })
}

const ofStore: readonly string[] = ['KIND_MISMATCH', 'STORE_UNAVAILABLE'] satisfies LeaseholdError['code'][]
