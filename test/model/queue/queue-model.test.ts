import { describe, expect, it } from 'vitest'
import { rounds } from '../../support/scale.ts'
import { type Control, controls } from './controls.ts'
import { type Measured, measure } from './measure.ts'
import { scenarios } from './scenarios.ts'
import { mostWork } from './setting.ts'

/** `LEASEHOLD_SEED=7 vitest run … -t <scenario>` plays the run of one seed. */
const given = process.env['LEASEHOLD_SEED']
const seedsTo = (count: number): readonly number[] =>
  given === undefined ? Array.from({ length: count }, (_, seed) => seed) : [Number(given)]

describe('the queue of the memory store, in virtual time', () => {
  it.each(Object.entries(scenarios))('%s', async (_, { setting, recoveryMs = Infinity, budget }) => {
    const measured = await measure(setting, seedsTo(rounds(500, 25)))
    expect(measured.problems).toEqual([])
    expect(measured.recoveryMs, `seed ${measured.slowest}`).toBeLessThanOrEqual(recoveryMs)
    expect(measured.perGrant).toBeLessThanOrEqual(budget)
    expect(measured.work).toBeLessThanOrEqual(mostWork)
  })
})

describe.skipIf(given !== undefined)('a rule in a naive form fails:', () => {
  it.each(Object.entries(controls))('%s', async (_, control) => {
    const seeds = seedsTo(control.seeds)
    const [sound, naive] = [await measure(control.sound, seeds), await measure(control.naive, seeds)]
    expect(sound.problems).toEqual([])
    expect(fails(control, sound, naive), `${JSON.stringify(sound)} → ${JSON.stringify(naive)}`).toBe(true)
  })
})

function fails({ shows }: Control, sound: Measured, naive: Measured): boolean {
  if (shows in sound) return naive[shows as Figure] > 1.25 * sound[shows as Figure] + 1
  return naive.problems.some((problem) => problem.startsWith(`${shows}:`))
}

type Figure = 'recoveryMs' | 'waitMs' | 'passedOver' | 'perGrant' | 'work'
