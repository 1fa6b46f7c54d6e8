import { demandOption, LeaseholdError } from '../errors.ts'
import type { KeyCalls } from '../key-locker.ts'
import { type CallSettings, callSettings } from '../options.ts'
import type { QueueKind } from '../store/queue.ts'
import { type PermitLease, type PermitWork, withPermits } from './permit-lease.ts'
import { checkCapacity, type PermitOptions, permitSettings, type TryPermitOptions, takeOf } from './permit-options.ts'
import type { Permits } from './permits.ts'
import { type SemaphoreState, semaphoreState } from './semaphore-state.ts'

/** The calls for one semaphore. Each uses a locker's calls for the key, whose line is the store's queue. */
export class SemaphoreCalls {
  readonly key: string
  readonly #permits: Permits
  readonly #settings: CallSettings
  #capacity: number
  /** The last resize of this object; it never rejects. */
  #resizing: Promise<void> | undefined
  /** The calls that the last call of this object used. */
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

  acquire(options?: PermitOptions): Promise<PermitLease> {
    return this.#asked(async () => {
      const { permits, rest } = takeOf(options, this.#capacity)
      return withPermits(await this.#callsFor(permits).acquire(rest), permits)
    })
  }

  tryAcquire(options?: TryPermitOptions): Promise<PermitLease | null> {
    return this.#asked(async () => {
      const { permits, rest } = takeOf(options, this.#capacity)
      const lease = await this.#callsFor(permits).tryAcquire(rest)
      return lease && withPermits(lease, permits)
    })
  }

  withPermit<T>(work: PermitWork<T>): Promise<T>
  withPermit<T>(options: PermitOptions | undefined, work: PermitWork<T>): Promise<T>
  async withPermit<T>(first: PermitOptions | PermitWork<T> | undefined, second?: PermitWork<T>): Promise<T> {
    const isAlone = second === undefined && typeof first === 'function'
    const work = (isAlone ? first : second) as PermitWork<T>
    demandOption(typeof work === 'function', 'work', 'a function')
    const options = isAlone ? undefined : (first as PermitOptions)
    let hasBegun = false
    return this.#asked(
      () => {
        const { permits, rest } = takeOf(options, this.#capacity)
        return this.#callsFor(permits).withLock(rest, (lease) => {
          hasBegun = true
          return work(withPermits(lease, permits))
        })
      },
      () => !hasBegun,
    )
  }

  async resize(permits: number): Promise<void> {
    checkCapacity(permits)
    const resizing = this.#permits.resize(this.key, { ...this.#kind, capacity: permits }).then(() => {
      this.#capacity = permits
      this.#latest = undefined
    })
    this.#resizing = resizing.catch(() => undefined)
    await resizing
  }

  /**
   * Repeats a call if the store refuses the number of permits and this object has resized in the meantime: the store
   * may have had the new number before the object did.
   */
  async #asked<T>(call: () => Promise<T>, mayRepeat: () => boolean = () => true): Promise<T> {
    for (;;) {
      const asked = this.#capacity
      try {
        return await call()
      } catch (error) {
        await this.#resizing
        const isRefused = error instanceof LeaseholdError && error.code === 'KIND_MISMATCH'
        if (!isRefused || asked === this.#capacity || !mayRepeat()) throw error
      }
    }
  }

  async inspect(): Promise<SemaphoreState> {
    const kind = this.#kind
    return semaphoreState(kind, await this.#permits.inspect(this.key, kind))
  }

  /** The calls that take this many permits. Most callers always take the same number. */
  #callsFor(permits: number): KeyCalls {
    if (this.#latest?.permits !== permits) {
      this.#latest = { permits, calls: this.#permits.callsFor(this.key, this.#kind, permits, this.#settings) }
    }
    return this.#latest.calls
  }
}
