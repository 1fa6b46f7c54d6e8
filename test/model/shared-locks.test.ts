import { seededRandom } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { rounds } from '../support/scale.ts'
import { sharedLockRun } from '../support/shared-lock-run.ts'
import type { Weather } from '../support/weather.ts'

const { seed } = seededRandom()

const weathers: readonly (readonly [string, Weather])[] = [
  ['when all is well', { roundTripMs: 0, lost: 0, revocations: false, deaths: true }],
  ['when answers take their time', { roundTripMs: 60, lost: 0, revocations: false, deaths: true }],
  ['when requests and replies are lost or late', { roundTripMs: 20, lost: 0.1, revocations: false, deaths: true }],
]

describe.each([
  ['permits of a semaphore', false],
  ['readers and writers', true],
] as const)('%s: nobody believes in more than there is, and in the end all is free', (_, isReadWrite) => {
  it.each(weathers)('%s', { timeout: 600_000 }, async (_name, weather) => {
    let [grants, full] = [0, 0]
    for (let run = seed; run < seed + rounds(2_000, 25); run++) {
      const { faults, seen } = await sharedLockRun(run, weather, isReadWrite)
      expect(faults, `LEASEHOLD_SEED=${run}`).toEqual([])
      grants += seen.grants
      full += seen.full
    }
    // The runs exercise what they are about.
    expect(grants).toBeGreaterThan(rounds(2_000, 25) * 5)
    expect(full).toBeGreaterThan(rounds(2_000, 25))
  })
})
