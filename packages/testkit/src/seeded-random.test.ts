import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { seededRandom } from './seeded-random.ts'

const take = (random: () => number): number[] => Array.from({ length: 1_000 }, random)

describe('seededRandom', () => {
  beforeEach(() => void vi.spyOn(console, 'log').mockReturnValue())
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })

  it('gives the same numbers for the same seed, spread from 0 to below 1', () => {
    const numbers = take(seededRandom(7).random)
    expect(take(seededRandom(7).random)).toEqual(numbers)
    expect(take(seededRandom(8).random)).not.toEqual(numbers)
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...numbers)).toBeLessThan(1)
    expect(new Set(numbers.map((number) => Math.floor(number * 10))).size).toBe(10)
  })

  it('takes the seed of the environment, and prints it', () => {
    vi.stubEnv('LEASEHOLD_SEED', '7')
    expect(take(seededRandom().random)).toEqual(take(seededRandom(7).random))
    expect(console.log).toHaveBeenCalledExactlyOnceWith('LEASEHOLD_SEED=7')
  })

  it('draws one otherwise, and prints it', () => {
    vi.stubEnv('LEASEHOLD_SEED', undefined)
    const { random, seed } = seededRandom()
    expect(take(random)).toEqual(take(seededRandom(seed).random))
    expect(console.log).toHaveBeenCalledExactlyOnceWith(`LEASEHOLD_SEED=${seed}`)
  })

  it('refuses a seed of the environment that it cannot repeat', () => {
    vi.stubEnv('LEASEHOLD_SEED', 'seven')
    expect(() => seededRandom()).toThrow('LEASEHOLD_SEED is not a whole number: seven')
  })
})
