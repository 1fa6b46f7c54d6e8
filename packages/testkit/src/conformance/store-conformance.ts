import { afterAll, beforeAll, describe } from 'vitest'
import { acquireClaims } from './acquire-claims.ts'
import { announcementClaims } from './announcement-claims.ts'
import { batchClaims } from './batch-claims.ts'
import { checkClaims } from './check-claims.ts'
import { endingClaims } from './ending-claims.ts'
import { fenceClaims } from './fence-claims.ts'
import { foreignHolderClaims } from './foreign-holder-claims.ts'
import { keyClaims } from './key-claims.ts'
import { passOnClaims } from './pass-on-claims.ts'
import { Probe } from './probe.ts'
import { releaseClaims } from './release-claims.ts'
import { renewClaims } from './renew-claims.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/**
 * The contract of a `LeaseStore`, one claim a test. An adapter calls it from its own `conformance.test.ts`:
 *
 * ```ts
 * storeConformance('my store', async () => ({ store, admin, advance, fenceMemoryMs: 2_000, close }))
 * ```
 *
 * The store is opened once, and each claim uses keys of its own, so a store may be shared with others. Against a real
 * server the claims really wait: allow about fifteen seconds for the whole suite, and five for a test.
 */
export function storeConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name}: a lease store`, () => {
    let opened: StoreUnderTest | undefined
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(() => opened?.close())

    const probe = new Probe(() => {
      if (!opened) throw new Error('The store could not be opened')
      return opened
    })
    describe('acquire', () => acquireClaims(probe))
    describe('fences', () => fenceClaims(probe))
    describe('renew', () => renewClaims(probe))
    describe('release', () => releaseClaims(probe))
    describe('release, once more', () => endingClaims(probe))
    describe('check, inspect, revoke', () => checkClaims(probe))
    describe('announcements', () => announcementClaims(probe))
    describe('several requests in one call', () => batchClaims(probe))
    describe('passing a lock on', () => passOnClaims(probe))
    describe('keys and entries', () => keyClaims(probe))
    describe('foreign holders', () => foreignHolderClaims(probe))
  })
}
