/** Records of work done: claim a key, run, and complete it with a result that later claims find. */
export { mostResultBytes } from '../store/record-limits.ts'
export type {
  AbandonOutcome,
  AbandonRequest,
  ClaimOutcome,
  ClaimRequest,
  CompleteOutcome,
  CompleteRequest,
  HolderSeen,
  NotMine,
  ReadOutcome,
  RecordStore,
  StoredRecord,
} from '../store/records.ts'
export { type ClaimOptions, checkClaims, claimRecord } from './claim-record.ts'
export type { RecordClaim } from './claiming.ts'
export { recordsOf } from './records-of.ts'
export type { Abandonment, CompleteOptions, Completion, Run, Unanswered } from './run.ts'
