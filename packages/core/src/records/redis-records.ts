import type { Makings } from '#process-state'
import { LeaseholdError } from '../errors.ts'
import { type KeyLayout, workRecord } from '../redis/keys.ts'
import type { ScriptReply } from '../redis/redis-transport.ts'
import { decoder } from '../redis/replies.ts'
import { countsSubscribers, runScript } from '../redis/run-script.ts'
import type { Script } from '../redis/scripts/script.ts'
import { only } from '../store/answered.ts'
import type { Refused, Unknown } from '../store/lease-store.ts'
import { checkFingerprint, checkResult } from '../store/record-limits.ts'
import type {
  AbandonOutcome,
  ClaimOutcome,
  CompleteOutcome,
  HolderSeen,
  NotMine,
  ReadOutcome,
  RecordStore,
} from '../store/records.ts'
import { parseToken } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { abandon } from './generated/abandon.ts'
import { claim } from './generated/claim.ts'
import { complete } from './generated/complete.ts'
import { readRecord } from './generated/read-record.ts'
import { parseRecord, toBase64 } from './record-text.ts'

/** The records of a Redis store: one string beside each lock. Each call is one command. */
export function redisRecords([transport, memory]: Makings, keys: KeyLayout): RecordStore {
  function run<Args extends string[], Keys extends string[], Each extends string[], O>(
    script: Script<Args, Keys, Each>,
    args: Args,
    request: readonly [...keys: Keys, ...args: Each],
    keyCount: Keys['length'],
    decode: (reply: ScriptReply) => O | Unknown | Refused,
    call: CallDeadline,
  ): Promise<O | Unknown | Refused> {
    return only(runScript(transport, script, args, keyCount, [request], (it) => it, decode, call)) as Promise<
      O | Unknown | Refused
    >
  }
  const of = (key: string): [lock: string, fences: string, record: string] => [
    keys.lock(key),
    keys.fence(key),
    workRecord(keys, key),
  ]
  /** Reads how a lock was freed. `told` is -2 if it was not freed now, and then nobody knows who heard of it. */
  const freed =
    <T extends string>(type: T) =>
    ([told]: readonly unknown[]): { type: T; announced: boolean; subscribers: number | null } | false => {
      const least = countsSubscribers(transport) ? 0 : 1
      return typeof told === 'number' && { type, announced: told !== -1, subscribers: told < least ? null : told }
    }

  const completed = decoder<CompleteOutcome>({ completed: freed('completed'), ...notMine })
  const abandoned = decoder<AbandonOutcome>({ abandoned: freed('abandoned'), completed: 'itself', ...notMine })

  return {
    async claim({ key, acquisitionId, ttlMs, fingerprint, keepMs, rerun }, call) {
      checkFingerprint(fingerprint)
      const wish = [acquisitionId, String(ttlMs), fingerprint, String(keepMs), rerun ? 'rerun' : ''] as const
      return run(claim, [memory], [...of(key), ...wish], 3, claimOutcome, call)
    },
    async complete({ key, token, fingerprint, result, keepMs }, call) {
      checkFingerprint(fingerprint)
      checkResult(result)
      const outcome = result ? (['done', toBase64(result)] as const) : (['too-large', ''] as const)
      const request = [token, fingerprint, ...outcome, String(keepMs), keys.releaseChannel(key)] as const
      return run(complete, [], [...of(key), ...request], 3, completed, call)
    },
    async abandon(request, call) {
      const { key } = request
      const claimed = 'token' in request ? request.token : request.acquisitionId
      return run(abandon, [], [...of(key), claimed, keys.releaseChannel(key)], 3, abandoned, call)
    },
    async read(key, call) {
      return run(readRecord, [], [keys.lock(key), workRecord(keys, key)], 2, readOutcome, call)
    },
  }
}

const notARecord = (): Refused => ({
  type: 'refused',
  error: new LeaseholdError(
    'KIND_MISMATCH',
    'The key, or the record beside it, holds something else; use another key or prefix',
  ),
})

function holderSeen([pttl, cursor, holder]: readonly unknown[]): HolderSeen | false {
  return (
    typeof pttl === 'number' && {
      expiresInMs: pttl < 0 ? null : pttl,
      cursor: String(cursor),
      // Some clients turn "123" into a number.
      holder: String(holder) || null,
    }
  )
}

const claimOutcome = decoder<ClaimOutcome>({
  claimed: ([token, overtook]) => {
    const fence = parseToken(token)?.fence
    return (
      fence !== undefined && { type: 'claimed', token: token as string, fence, overtook: Number(overtook) || undefined }
    )
  },
  done: ([text, pttl]) => {
    const record = parseRecord(text, pttl)
    return record && { type: 'done', record }
  },
  mismatch: 'itself',
  busy: (details) => {
    const seen = holderSeen(details)
    return seen && { type: 'busy', ...seen }
  },
  'in-doubt': ([text, pttl]) => {
    const record = parseRecord(text, pttl)
    return record && { type: 'in-doubt', record }
  },
  spent: 'itself',
  other: notARecord,
})

const notMine = {
  superseded: ([text, pttl]: readonly unknown[]): NotMine | false => {
    const record = parseRecord(text, pttl)
    return record && { type: 'superseded', record }
  },
  gone: 'itself',
  other: notARecord,
} as const

const readOutcome = decoder<ReadOutcome>({
  state: ([text, pttl, holder]) => {
    const record = text === '' ? null : parseRecord(text, pttl)
    if (record === false) return text ? notARecord() : false
    const details = holder as readonly unknown[]
    const lock = Array.isArray(holder) && (details.length > 0 ? holderSeen(details) : null)
    return lock !== false && { type: 'state', record, lock }
  },
  other: notARecord,
})
