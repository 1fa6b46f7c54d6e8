import { createLocker, type Locker, type LockerEvent } from '@leasehold/core'
import { type CallDeadline, offerRecords } from '@leasehold/core/adapter'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { type RecordStore, recordsOf } from '@leasehold/core/records'
import { follow, ManualClock } from '@leasehold/testkit'
import { storeLike } from '../../../test/support/store-like.ts'
import {
  type IdempotencyEvent,
  type IdempotentHandle,
  type IdempotentOptions,
  type IdempotentWork,
  idempotent,
  type OngoingRun,
} from '../src/index.ts'

type Call = Exclude<keyof RecordStore, 'read'>
/** The fate of a request to the store: its answer is lost, it is lost itself, or the server is full or a replica. */
type Fate = 'reply lost' | 'request lost' | 'full' | 'read-only'

export interface Sent {
  readonly key?: string | null
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream | null
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** A request whose work has begun. */
export interface Begun {
  readonly answered: Promise<Response>
  /** The request that the work was given. */
  readonly request: Request
  readonly run: OngoingRun
  /** Ends the work. */
  answer(response: Response): void
}

/** A handle over the embedded store, on a clock that a test moves. */
export interface MemorySetting {
  readonly clock: ManualClock
  readonly locks: Locker
  /** A locker as in another process. */
  readonly elsewhere: Locker
  readonly events: IdempotencyEvent[]
  readonly lockerEvents: LockerEvent[]
  /** The record requests made so far. */
  readonly asked: Call[]
  /** The fates of the next requests, in order; all others are answered. */
  readonly fates: Record<Call, Fate[]>
  handle(options?: Partial<IdempotentOptions>): IdempotentHandle
  /** Sends a request through a handle, and lets time pass until it is answered. */
  send(handle: IdempotentHandle, work: IdempotentWork, sent?: Sent): Promise<Response>
  /** Sends a request, and resolves when its work has begun; the work answers when the test says so. */
  begin(handle: IdempotentHandle, sent?: Sent): Promise<Begun>
  /** Lets time pass until a promise is settled. */
  settled<T>(promise: Promise<T>): Promise<T>
}

export const requestOf = ({
  key = 'k1',
  body = '{"amount":100}',
  method = 'POST',
  path = '/payments',
  headers,
  signal,
}: Sent = {}): Request => {
  const all = { 'content-type': 'application/json', ...(key !== null && { 'idempotency-key': key }), ...headers }
  const init = { method, headers: all, ...(signal && { signal }), duplex: 'half' } as const
  return new Request(`https://shop.example${path}`, method === 'GET' || method === 'HEAD' ? init : { ...init, body })
}

export function memorySetting(): MemorySetting {
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const records = recordsOf(store) as RecordStore
  const [events, lockerEvents, asked]: [IdempotencyEvent[], LockerEvent[], Call[]] = [[], [], []]
  const fates: MemorySetting['fates'] = { claim: [], complete: [], abandon: [] }

  async function meet<O>(name: Call, call: CallDeadline, carryOut: () => Promise<O>, needsMemory = true) {
    asked.push(name)
    const fate = fates[name].shift()
    if (!fate || (fate === 'full' && !needsMemory)) return carryOut()
    if (fate === 'full') return { type: 'unknown', executed: 'no', cause: new Error('OOM') } as const
    if (fate === 'read-only') return { type: 'unknown', executed: 'no', cause: new Error('READONLY') } as const
    if (fate === 'reply lost') await carryOut()
    await new Promise<void>((resolve) => call.onOver(resolve))
    return { type: 'unknown', executed: 'unknown' } as const
  }
  const disturbed = offerRecords(storeLike(store), {
    claim: (request, call) => meet('claim', call, () => records.claim(request, call)),
    complete: (request, call) => meet('complete', call, () => records.complete(request, call), request.result !== null),
    abandon: (request, call) => meet('abandon', call, () => records.abandon(request, call)),
    read: (key, call) => records.read(key, call),
  })
  const locks = createLocker({
    store: disturbed,
    notifier: memoryNotifier(store),
    clock,
    name: 'here',
    onEvent: (event) => lockerEvents.push(event),
  })

  async function settled<T>(promise: Promise<T>): Promise<T> {
    const call = follow(promise, clock)
    for (let passedMs = 0; call.state === 'pending' && passedMs < 120_000; passedMs += 50) {
      await hashed()
      await clock.advance(50)
    }
    return promise
  }
  return {
    clock,
    locks,
    elsewhere: createLocker({ store, clock, name: 'elsewhere' }),
    events,
    lockerEvents,
    asked,
    fates,
    handle: (options) =>
      idempotent({ locks, scope: 'tenant', clock, onEvent: (event) => events.push(event), ...options }),
    send: (handle, work, sent) => settled(handle(requestOf(sent), work)),
    async begin(handle, sent) {
      const { promise: opened, resolve: answer } = Promise.withResolvers<Response>()
      const begun = Promise.withResolvers<{ request: Request; run: OngoingRun }>()
      const answered = handle(requestOf(sent), (request, { run }) => {
        begun.resolve({ request, run: run as OngoingRun })
        return opened
      })
      return { answered, ...(await settled(begun.promise)), answer }
    },
    settled,
  }
}

/** The number of hashes in flight. They are computed on another thread, which the clock knows nothing about. */
let hashing = 0
const digest = crypto.subtle.digest.bind(crypto.subtle)
crypto.subtle.digest = (...what) => {
  hashing++
  return digest(...what).finally(() => hashing--)
}

/** Resolves when no hash is in flight or about to start. */
async function hashed(): Promise<void> {
  for (let idle = 0; idle < 3; idle = hashing > 0 ? 0 : idle + 1) await new Promise((resolve) => setImmediate(resolve))
}
