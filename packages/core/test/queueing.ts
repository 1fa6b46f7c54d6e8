import {
  callUntil,
  follow,
  ManualClock,
  ScriptedStore,
  type Settlement,
  type TestLocker,
  testLocker,
} from '@leasehold/testkit'
import type { ReleaseNotifier } from '../src/adapter/index.ts'
import type { AcquireOptions, Lease } from '../src/index.ts'
import type { LockerOptions } from '../src/locker.ts'
import { type MemoryStore, memoryNotifier, memoryStore } from '../src/memory/index.ts'
import { fifo } from '../src/queue/index.ts'
import { drawAcquisitionId } from '../src/store/token.ts'

/** A process on a memory store, whose commands are recorded and scripted apart from those of others. */
export interface QueueingProcess extends TestLocker<ReleaseNotifier | undefined> {
  /** It hears no message while this is true: of no turn, and of no release. */
  isDeaf: boolean
  /** Decides which messages it hears while it is not deaf; default all. */
  hears: () => boolean
  /** Acquires `k` in order of arrival, unless the options say otherwise. */
  queue(options?: AcquireOptions): Settlement<Lease>
  /** Waits for another lock as long as the test takes. So its inbox is open, and its first try for `k` enters the queue. */
  keepInbox(): Promise<void>
  /** The names of its commands so far, without those it had when this was called last. */
  commands(): readonly string[]
}

/** A memory store, and processes that queue for its locks. */
export interface Queueing {
  readonly clock: ManualClock
  readonly memory: MemoryStore
  process(options?: Omit<LockerOptions, 'store' | 'clock'>): QueueingProcess
}

export function queueing(): Queueing {
  const clock = new ManualClock()
  const untimed = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    schedule: () => () => undefined,
  }
  const memory = memoryStore({ clock: untimed })
  return {
    clock,
    memory,
    process(options = {}) {
      const heard =
        (listener: (payload: string) => void) =>
        (payload: string): void => {
          if (!made.isDeaf && made.hears()) listener(payload)
        }
      const notifier = memoryNotifier({
        listen: (key, listener) => memory.listen(key, heard(listener)),
        listenInbox: (inbox, listener) => memory.listenInbox(inbox, heard(listener)),
      })
      const store = new ScriptedStore(clock, memory)
      const tested = testLocker({ wait: '1m', queue: fifo(), notifier, ...options, clock, store })
      const made: QueueingProcess = {
        ...tested,
        isDeaf: false,
        hears: () => true,
        queue: (acquire) => follow(tested.locks.acquire('k', acquire), clock),
        async keepInbox() {
          const call = callUntil(new AbortController().signal)
          await memory.acquire(
            [{ key: 'kept', acquisitionId: drawAcquisitionId(), ttlMs: 86_400_000, fences: 1 }],
            call,
          )
          follow(tested.locks.acquire('kept', { wait: '24h' }), clock)
          await clock.advance(0)
          store.calls.length = 0
        },
        commands: () => store.calls.splice(0).map(({ name }) => name),
      }
      return made
    },
  }
}
