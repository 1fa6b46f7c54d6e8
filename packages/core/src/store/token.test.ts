import { afterEach, describe, expect, it, vi } from 'vitest'
import { drawAcquisitionId, fenceOf, parseToken } from './token.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** More ids than one block of random numbers yields. */
const drawMany = (): string[] => Array.from({ length: 300 }, () => drawAcquisitionId())

describe('an acquisition id', () => {
  it('is 128 random bits in hex, after the name of its locker if that has one', () => {
    expect(drawAcquisitionId()).toMatch(/^[\da-f]{32}$/)
    expect(drawAcquisitionId('orders-7')).toMatch(/^orders-7\.[\da-f]{32}$/)
  })

  it('keeps its length when the drawn numbers are small', () => {
    vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => array)
    expect(drawMany()).toContain('0'.repeat(32))
    // The rest of the last block is all zeros, too.
    vi.restoreAllMocks()
    drawMany()
  })

  it('comes from the cryptographic generator, not from Math.random', () => {
    const cheap = vi.spyOn(Math, 'random')
    const strong = vi.spyOn(crypto, 'getRandomValues')
    drawMany()
    expect(cheap).not.toHaveBeenCalled()
    expect(strong).toHaveBeenCalled()
  })

  it('is never drawn twice', () => {
    const drawn = new Set(Array.from({ length: 20_000 }, () => drawAcquisitionId()))
    expect(drawn.size).toBe(20_000)
  })
})

describe('a token', () => {
  it('tells its locker and its fence', () => {
    expect(parseToken(`${drawAcquisitionId('orders-7')}.1767225600000000`)).toEqual({
      name: 'orders-7',
      fence: 1_767_225_600_000_000,
    })
    expect(parseToken(`${drawAcquisitionId()}.7`)).toEqual({ name: null, fence: 7 })
  })

  it('of a locker whose name looks like an acquisition id is still read right', () => {
    const name = drawAcquisitionId()
    expect(parseToken(`${drawAcquisitionId(name)}.3`)).toEqual({ name, fence: 3 })
  })

  it.each([
    ...['', '1', 'locked', '7', '.7', 'a.7', 'host:4711', '550e8400-e29b-41d4-a716-446655440000'],
    ...[
      drawAcquisitionId(),
      `${drawAcquisitionId()}.`,
      `${drawAcquisitionId()}.x`,
      `${drawAcquisitionId()}.1.5`,
      `${drawAcquisitionId()}.-1`,
    ],
    ...[
      `a b.${drawAcquisitionId()}.1`,
      `.${drawAcquisitionId()}.1`,
      `${drawAcquisitionId().toUpperCase()}X.1`,
      `${drawAcquisitionId()}.7\n`,
    ],
    ...[null, undefined, 7, {}, [`${drawAcquisitionId()}.7`]],
  ])('is not what a foreign holder wrote: %j', (value) => {
    expect(parseToken(value)).toBeUndefined()
  })
})

describe('the fence of a token', () => {
  it.each([1, 7, 1_767_225_600_000_000, Number.MAX_SAFE_INTEGER])('is exact: %d', (fence) => {
    expect(fenceOf(`${drawAcquisitionId()}.${fence}`)).toBe(fence)
    expect(fenceOf(`${drawAcquisitionId('orders-7')}.${fence}`)).toBe(fence)
  })

  it.each(['0', '1.767225e+15', '1e15', '1e+21', 'Infinity', '-7', '7 ', '0x7'])('is not %s', (fence) => {
    expect(fenceOf(`${drawAcquisitionId()}.${fence}`)).toBe(0)
  })

  it.each(['', '7', 'OK', null, undefined, 7, [`${drawAcquisitionId()}.7`]])('is not in %j', (value) => {
    expect(fenceOf(value)).toBe(0)
  })
})
