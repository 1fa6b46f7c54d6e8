import type { LockState } from '@leasehold/core'
import type {
  AcquireOutcome,
  AcquireRequest,
  CheckOutcome,
  LeaseStore,
  ReleaseOutcome,
  ReleaseRequest,
  RenewOutcome,
} from '@leasehold/core/adapter'
import { expect, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import type { Listening, StoreAdmin, StoreCapability, StoreEntry, StoreUnderTest } from './store-under-test.ts'

/** A ttl that no claim outlives. */
export const longMs = 60_000

/** A ttl that a claim waits out. Long enough for a slow machine to make two requests while other claims run. */
export const shortMs = 1_000

/** The same, for a claim that calls the store once more before the ttl is over. */
export const ampleMs = 4_000

/** How far a remaining time may be below the requested one: the time a slow machine may take between two requests. */
export const slackMs = 10_000

type Granted = Extract<AcquireOutcome, { readonly type: 'granted' }>

/** What one claim works with: requests one at a time, with defaults for what the claim does not specify. */
export class Probe {
  readonly #opened: () => StoreUnderTest

  constructor(opened: () => StoreUnderTest) {
    this.#opened = opened
  }

  get store(): LeaseStore {
    return this.#opened().store
  }

  get admin(): StoreAdmin {
    return this.#opened().admin
  }

  get fenceMemoryMs(): number {
    return this.#opened().fenceMemoryMs
  }

  /** A signal that is never aborted. */
  get signal(): AbortSignal {
    return new AbortController().signal
  }

  /** A key no other claim or run uses. */
  key(): string {
    return `claim-${random(8)}`
  }

  /** An acquisition id of the form that the core draws. */
  acquisitionId(name?: string): string {
    return name === undefined ? random(32) : `${name}.${random(32)}`
  }

  advance(ms: number): Promise<void> {
    return this.#opened().advance(ms)
  }

  /** Skips the claim, with the adapter's reason, if the store lacks what it needs. */
  needs(context: TestContext, capability: StoreCapability): void {
    const reason = this.#opened().skip?.[capability]
    if (reason !== undefined) context.skip(`${capability}: ${reason}`)
  }

  async acquire(request: Asked): Promise<AcquireOutcome> {
    return only(await this.store.acquire([asked(this, request)], callUntil(this.signal)))
  }

  /** Acquires a lock that must be free. */
  async grant(request: Asked): Promise<Granted> {
    const outcome = await this.acquire(request)
    expect(outcome).toMatchObject({ type: 'granted' })
    return outcome as Granted
  }

  /** Tries to acquire a lock that somebody must hold. */
  async contention(request: Asked): Promise<Extract<AcquireOutcome, { readonly type: 'held' }>> {
    const outcome = await this.acquire(request)
    expect(outcome).toMatchObject({ type: 'held' })
    return outcome as Extract<AcquireOutcome, { readonly type: 'held' }>
  }

  async renew(key: string, token: string, ttlMs: number): Promise<RenewOutcome['type']> {
    return only(await this.store.renew([{ key, token, ttlMs }], callUntil(this.signal))).type
  }

  async release(request: ReleaseRequest): Promise<ReleaseOutcome['type']> {
    return only(await this.store.release([request], callUntil(this.signal))).type
  }

  async check(key: string, cursor: string): Promise<Extract<CheckOutcome, { readonly type: 'checked' }>> {
    const outcome = only(await this.store.checkHolders([{ key, cursor }], callUntil(this.signal)))
    expect(outcome).toMatchObject({ type: 'checked' })
    return outcome as Extract<CheckOutcome, { readonly type: 'checked' }>
  }

  async inspect(key: string): Promise<LockState> {
    const outcome = await this.store.inspect(key, callUntil(this.signal))
    if (outcome.type !== 'state') throw new Error(`inspect answered ${outcome.type}`)
    return outcome.state
  }

  async revoke(key: string): Promise<string> {
    return (await this.store.revoke(key, callUntil(this.signal))).type
  }

  /** Milliseconds until the lock's entry expires, as the admin reads it; fails without entry or expiry. */
  async leftMs(key: string): Promise<number> {
    const left = await this.admin.expiresInMs(key)
    expect(left, `no entry with an expiry at ${key}`).toBeTypeOf('number')
    return left as number
  }

  /** Calls `renew`, and expects that it restored the whole lifetime, however long the calls took. */
  async expectWholeLife(wholeMs: number, renew: () => Promise<unknown>, leftMs: () => Promise<number>): Promise<void> {
    const sentAtMs = performance.now()
    await renew()
    const left = await leftMs()
    const tookMs = performance.now() - sentAtMs
    // The tolerance is half of what claims let pass before that.
    expect(left).toBeGreaterThan(wholeMs - tookMs - shortMs / 2)
  }

  /** Every entry that belongs to the lock. */
  entriesOf(key: string): Promise<readonly StoreEntry[]> {
    return this.admin.entriesOf(key)
  }

  async listen(key: string): Promise<Listening> {
    const { listen } = this.#opened()
    if (!listen) throw new Error('Provide listen(), or skip "announcements" with a reason')
    return listen(key)
  }

  async listenInbox(inbox: string): Promise<Listening> {
    const { listenInbox } = this.#opened()
    if (!listenInbox) throw new Error('Provide listenInbox(), or skip "announcements" with a reason')
    return listenInbox(inbox)
  }

  setWallClockBack(ms: number): void {
    const { setWallClockBack } = this.#opened()
    if (!setWallClockBack) throw new Error('Provide setWallClockBack(), or skip "wall-clock" with a reason')
    setWallClockBack(ms)
  }
}

type Asked = Pick<AcquireRequest, 'key'> & Partial<AcquireRequest>

/** A complete request: a fresh acquisition id, a long ttl and one fence, unless the claim says otherwise. */
export const asked = (probe: Probe, request: Asked): AcquireRequest => ({
  acquisitionId: probe.acquisitionId(),
  ttlMs: longMs,
  fences: 1,
  ...request,
})

/** A token that differs from a granted one in its fence alone. */
export const withOtherFence = (token: string): string => token.replace(/\d+$/, (fence) => String(Number(fence) + 1))

function only<T>(outcomes: readonly T[]): T {
  expect(outcomes, 'one outcome per request').toHaveLength(1)
  return outcomes[0] as T
}

const random = (digits: number): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(digits)), (byte) => (byte % 16).toString(16)).join('')
