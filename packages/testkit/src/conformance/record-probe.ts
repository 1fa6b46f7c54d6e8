import {
  type AbandonOutcome,
  type AbandonRequest,
  type ClaimOutcome,
  type ClaimRequest,
  type CompleteOutcome,
  type CompleteRequest,
  type ReadOutcome,
  type RecordStore,
  recordsOf,
} from '@leasehold/core/records'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { longMs, type Probe, shortMs } from './probe.ts'

type Claimed = Extract<ClaimOutcome, { readonly type: 'claimed' }>
type Run = Pick<CompleteRequest, 'key' | 'token'> & Partial<CompleteRequest>

export const every: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => byte)
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Requests for records, one at a time, with defaults for what a claim does not specify. */
export class Records {
  readonly #probe: Probe
  readonly store: RecordStore

  constructor(probe: Probe, store: RecordStore) {
    this.#probe = probe
    this.store = store
  }

  claim(request: Pick<ClaimRequest, 'key'> & Partial<ClaimRequest>): Promise<ClaimOutcome> {
    return this.store.claim(this.asked(request), callUntil(this.#probe.signal))
  }

  asked(request: Pick<ClaimRequest, 'key'> & Partial<ClaimRequest>): ClaimRequest {
    const acquisitionId = this.#probe.acquisitionId()
    return { acquisitionId, ttlMs: longMs, fingerprint: 'same', keepMs: 2 * longMs, rerun: false, ...request }
  }

  /** Claims a key that must be free. */
  async begin(request: Pick<ClaimRequest, 'key'> & Partial<ClaimRequest>): Promise<Claimed> {
    const outcome = await this.claim(request)
    expect(outcome).toMatchObject({ type: 'claimed' })
    return outcome as Claimed
  }

  /** Claims a key whose run then loses its lease, as if it had died. */
  async leaveInDoubt(key: string): Promise<Claimed> {
    const claimed = await this.begin({ key, ttlMs: shortMs })
    await this.#probe.advance(shortMs)
    return claimed
  }

  complete(run: Run): Promise<CompleteOutcome> {
    const request = { fingerprint: 'same', result: bytes('done'), keepMs: longMs, ...run }
    return this.store.complete(request, callUntil(this.#probe.signal))
  }

  abandon(request: AbandonRequest): Promise<AbandonOutcome> {
    return this.store.abandon(request, callUntil(this.#probe.signal))
  }

  async read(key: string): Promise<Extract<ReadOutcome, { readonly type: 'state' }>> {
    const outcome = await this.store.read(key, callUntil(this.#probe.signal))
    expect(outcome).toMatchObject({ type: 'state' })
    return outcome as Extract<ReadOutcome, { readonly type: 'state' }>
  }

  /** The state of the record, and whether somebody has the lock. */
  async state(key: string): Promise<string> {
    const { record, lock } = await this.read(key)
    return `${record?.state ?? 'absent'}${lock ? ', locked' : ''}`
  }
}

/** Defines a claim about records. Skipped if the store does not offer them. */
export type RecordClaimTest = (name: string, test: (records: Records, context: TestContext) => Promise<void>) => void

export const claimOn =
  (probe: Probe): RecordClaimTest =>
  (name, test) =>
    it(name, async (context) => {
      const store = recordsOf(probe.store)
      if (!store) context.skip('records: the store does not offer them')
      await test(new Records(probe, store as RecordStore), context)
    })
