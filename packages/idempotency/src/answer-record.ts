import type { StoredRecord } from '@leasehold/core/records'
import type { GuardedRequest } from './guarded-request.ts'
import { decodeResult } from './result-format.ts'

/** The recorded answer of work that is done. */
export function answerRecord(guarded: GuardedRequest, record: StoredRecord): Response {
  if (record.state !== 'done') return guarded.problem('result-not-kept')
  const result = decodeResult(record.result)
  return result
    ? guarded.replay(result)
    : guarded.misconfigured(new Error('A record has a format that is not known here'))
}
