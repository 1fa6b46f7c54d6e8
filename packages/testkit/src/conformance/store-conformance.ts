import { afterAll, beforeAll, describe } from 'vitest'
import { acquireClaims } from './acquire-claims.ts'
import { announcementClaims } from './announcement-claims.ts'
import { batchClaims } from './batch-claims.ts'
import { checkClaims } from './check-claims.ts'
import { elderClaims } from './elder-claims.ts'
import { endingClaims } from './ending-claims.ts'
import { fenceClaims } from './fence-claims.ts'
import { foreignHolderClaims } from './foreign-holder-claims.ts'
import { handOverClaims } from './hand-over-claims.ts'
import { keyClaims } from './key-claims.ts'
import { listingClaims } from './listing-claims.ts'
import { manyClaims } from './many-claims.ts'
import { passOnClaims } from './pass-on-claims.ts'
import { permitClaims } from './permit-claims.ts'
import { presenceClaims } from './presence-claims.ts'
import { Probe } from './probe.ts'
import { queueClaims } from './queue-claims.ts'
import { queueLeavingClaims } from './queue-leaving-claims.ts'
import { recordClaims } from './record-claims.ts'
import { recordRepeatClaims } from './record-repeat-claims.ts'
import { releaseAfterClaims } from './release-after-claims.ts'
import { releaseClaims } from './release-claims.ts'
import { renewClaims } from './renew-claims.ts'
import type { StoreUnderTest } from './store-under-test.ts'

export interface ConformanceOptions {
  /**
   * Whether the claims run side by side, as many as vitest's `maxConcurrency` allows; default false. For a store on a
   * real server, whose claims mostly wait. Not for a store on a manual clock, which all claims would share.
   */
  readonly concurrent?: boolean
}

/**
 * The contract of a `LeaseStore`, one test per claim. An adapter calls it from its own `conformance.test.ts`:
 *
 * ```ts
 * storeConformance('my store', async () => ({ store, admin, advance, fenceMemoryMs: 3_000, close }), { concurrent: true })
 * ```
 *
 * The store is opened once, and each claim uses keys of its own, so the store may be shared with others. Against a real
 * server the claims really wait: allow half a minute for the whole suite, a few seconds if they run side by side, and
 * five seconds for a test.
 */
export function storeConformance(
  name: string,
  open: () => Promise<StoreUnderTest>,
  options: ConformanceOptions = {},
): void {
  describe(`${name}: a lease store`, options, () => {
    const probe = probeOf(open)
    describe('acquire', () => acquireClaims(probe))
    describe('fences', () => fenceClaims(probe))
    describe('renew', () => renewClaims(probe))
    describe('release', () => releaseClaims(probe))
    describe('release, once more', () => endingClaims(probe))
    describe('check, inspect, revoke', () => checkClaims(probe))
    describe('announcements', () => announcementClaims(probe))
    describe('several requests in one call', () => batchClaims(probe))
    describe('passing a lock on', () => passOnClaims(probe))
    describe('records', () => recordClaims(probe))
    describe('records, once more', () => recordRepeatClaims(probe))
    describe('hand-over', () => handOverClaims(probe))
    describe('several locks at once', () => manyClaims(probe))
    describe('several locks that are waited for', () => elderClaims(probe))
    describe('queues', () => queueClaims(probe))
    describe('queues, and who goes', () => queueLeavingClaims(probe))
    describe('several holders', () => permitClaims(probe))
    describe('a release that takes effect later', () => releaseAfterClaims(probe))
    describe('lists', () => listingClaims(probe))
    describe('rooms, and who is in them', () => presenceClaims(probe))
    describe('keys and entries', () => keyClaims(probe))
    describe('foreign holders', () => foreignHolderClaims(probe))
  })
}

/** The part of `storeConformance` about records, for further clients of a store that has passed the whole suite. */
export function recordConformance(
  name: string,
  open: () => Promise<StoreUnderTest>,
  options: ConformanceOptions = {},
): void {
  describe(`${name}: records`, options, () => {
    const probe = probeOf(open)
    recordClaims(probe)
    recordRepeatClaims(probe)
  })
}

/** Opens the store before the first claim, and closes it after the last. */
function probeOf(open: () => Promise<StoreUnderTest>): Probe {
  let opened: StoreUnderTest | undefined
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened?.close())
  return new Probe(() => {
    if (!opened) throw new Error('The store could not be opened')
    return opened
  })
}
