import { demandOption } from '../errors.ts'
import type { KeyCalls } from '../key-locker.ts'
import { type CallSettings, callSettings } from '../options.ts'
import type { QueueKind } from '../store/queue.ts'
import { type PermitLease, type PermitWork, withPermits } from './permit-lease.ts'
import { checkCapacity, type PermitOptions, permitSettings, type TryPermitOptions, takeOf } from './permit-options.ts'
import type { Permits } from './permits.ts'
import { type SemaphoreState, semaphoreState } from './semaphore-state.ts'

/** The calls for one semaphore. Each makes the calls of a locker for its key, whose line is that of the store's queue. */
export class SemaphoreCalls {
  readonly key: string
  readonly #permits: Permits
  readonly #settings: CallSettings
  #capacity: number
  /** Those that the last call made. */
  #latest: { readonly permits: number; readonly calls: KeyCalls } | undefined

  constructor(permits: Permits, key: string, capacity: number) {
    this.key = key
    this.#permits = permits
    this.#settings = permitSettings(callSettings(permits.defaults))
    this.#capacity = capacity
  }

  get #kind(): QueueKind {
    return { name: 'semaphore', capacity: this.#capacity }
  }

  async acquire(options?: PermitOptions): Promise<PermitLease> {
    const { permits, rest } = takeOf(options, this.#capacity)
    return withPermits(await this.#callsFor(permits).acquire(rest), permits)
  }

  async tryAcquire(options?: TryPermitOptions): Promise<PermitLease | null> {
    const { permits, rest } = takeOf(options, this.#capacity)
    const lease = await this.#callsFor(permits).tryAcquire(rest)
    return lease && withPermits(lease, permits)
  }

  withPermit<T>(work: PermitWork<T>): Promise<T>
  withPermit<T>(options: PermitOptions | undefined, work: PermitWork<T>): Promise<T>
  async withPermit<T>(first: PermitOptions | PermitWork<T> | undefined, second?: PermitWork<T>): Promise<T> {
    const isAlone = second === undefined && typeof first === 'function'
    const work = (isAlone ? first : second) as PermitWork<T>
    demandOption(typeof work === 'function', 'work', 'a function')
    const { permits, rest } = takeOf(isAlone ? undefined : (first as PermitOptions), this.#capacity)
    return this.#callsFor(permits).withLock(rest, (lease) => work(withPermits(lease, permits)))
  }

  async resize(permits: number): Promise<void> {
    checkCapacity(permits)
    await this.#permits.resize(this.key, { ...this.#kind, capacity: permits })
    this.#capacity = permits
    this.#latest = undefined
  }

  async inspect(): Promise<SemaphoreState> {
    const kind = this.#kind
    return semaphoreState(kind, await this.#permits.inspect(this.key, kind))
  }

  /** The calls that take so many. Most callers always take the same. */
  #callsFor(permits: number): KeyCalls {
    if (this.#latest?.permits !== permits) {
      this.#latest = { permits, calls: this.#permits.callsFor(this.key, this.#kind, permits, this.#settings) }
    }
    return this.#latest.calls
  }
}
