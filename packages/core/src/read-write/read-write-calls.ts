import { demandOption } from '../errors.ts'
import type { KeyCalls } from '../key-locker.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Lease } from '../lease/lease.ts'
import { withLease } from '../lease/with-lease.ts'
import { type AcquireOptions, type CallSettings, callSettings } from '../options.ts'
import { permitSettings } from '../semaphore/permit-options.ts'
import type { Permits } from '../semaphore/permits.ts'
import type { QueueKind } from '../store/queue.ts'
import { readerPermits, writerPermits } from './figures.ts'
import { Hold } from './hold.ts'
import type { HoldLease, Mode } from './hold-lease.ts'
import { nesting } from './read-write-options.ts'
import { type ReadWriteState, readWriteState } from './read-write-state.ts'

const kind: QueueKind = { name: 'read-write', capacity: writerPermits }
const taken: Readonly<Record<Mode, number>> = { read: readerPermits, write: writerPermits }

type Work<M extends Mode, T> = (lease: HoldLease<M>) => T | Promise<T>

/** The calls for one read/write lock, which is a semaphore that a writer takes whole. */
export class ReadWriteCalls {
  readonly key: string
  readonly #permits: Permits
  readonly #settings: CallSettings

  constructor(permits: Permits, key: string) {
    this.key = key
    this.#permits = permits
    this.#settings = permitSettings(callSettings(permits.defaults))
  }

  read(options?: object): Promise<HoldLease<'read'>> {
    return this.#acquire('read', options)
  }

  write(options?: object): Promise<HoldLease<'write'>> {
    return this.#acquire('write', options)
  }

  tryRead(options?: object): Promise<HoldLease<'read'> | null> {
    return this.#take('read', options, (calls, rest) => calls.tryAcquire(rest))
  }

  tryWrite(options?: object): Promise<HoldLease<'write'> | null> {
    return this.#take('write', options, (calls, rest) => calls.tryAcquire(rest))
  }

  withRead<T>(first: object | undefined, second?: Work<'read', T>): Promise<T> {
    return this.#with('read', first, second)
  }

  withWrite<T>(first: object | undefined, second?: Work<'write', T>): Promise<T> {
    return this.#with('write', first, second)
  }

  async inspect(): Promise<ReadWriteState> {
    return readWriteState(await this.#permits.inspect(this.key, kind))
  }

  async #acquire<M extends Mode>(mode: M, options: object | undefined): Promise<HoldLease<M>> {
    return (await this.#take(mode, options, (calls, rest) => calls.acquire(rest))) as HoldLease<M>
  }

  async #with<M extends Mode, T>(mode: M, first: object | undefined, second?: Work<M, T>): Promise<T> {
    const isAlone = second === undefined && typeof first === 'function'
    const work = (isAlone ? first : second) as Work<M, T>
    demandOption(typeof work === 'function', 'work', 'a function')
    return withLease(this.#permits.context.clock, this.#acquire(mode, isAlone ? undefined : first), work)
  }

  /** @param acquire asks the store, unless the call is nested in another */
  async #take<M extends Mode>(
    mode: M,
    options: object | undefined,
    acquire: (calls: KeyCalls, rest: AcquireOptions) => Promise<Lease | null>,
  ): Promise<HoldLease<M> | null> {
    const { within, rest } = nesting(options)
    if (within !== undefined) return this.#enter(mode, within, rest)
    const calls = this.#permits.callsFor(this.key, kind, taken[mode], this.#settings)
    const held = (await acquire(calls, rest)) as HeldLease | null
    return held && new Hold(this.#permits, held).enter(mode, held)
  }

  /** Enters the caller's grant, whoever waits: waiting behind somebody who waits for the caller would never end. */
  #enter<M extends Mode>(mode: M, within: unknown, rest: AcquireOptions): HoldLease<M> {
    this.#settings(rest).signal?.throwIfAborted()
    const hold = (within as HoldLease | null)?.hold?.() as Hold | undefined
    const isOurs = hold?.permits.locks === this.#permits.locks && hold?.held.key === this.key
    demandOption(isOurs, 'within', 'a lease of this lock, from the same locker')
    ;(within as HoldLease).assertValid()
    return (hold as Hold).enter(mode, { waitedMs: 0, commands: 0 })
  }
}
