import { afterEach, describe, expect, it, vi } from 'vitest'
import { drawOwner, parseToken } from './token.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('an owner', () => {
  it('is 128 random bits in hex, after the name of its locker if that has one', () => {
    expect(drawOwner()).toMatch(/^[\da-f]{32}$/)
    expect(drawOwner('orders-7')).toMatch(/^orders-7\.[\da-f]{32}$/)
  })

  it('keeps its length when the drawn numbers are small', () => {
    vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => array)
    expect(drawOwner()).toBe('0'.repeat(32))
  })

  it('comes from the cryptographic generator, not from Math.random', () => {
    const cheap = vi.spyOn(Math, 'random')
    const strong = vi.spyOn(crypto, 'getRandomValues')
    drawOwner()
    expect(cheap).not.toHaveBeenCalled()
    expect(strong).toHaveBeenCalledTimes(1)
  })

  it('is never drawn twice', () => {
    const drawn = new Set(Array.from({ length: 20_000 }, () => drawOwner()))
    expect(drawn.size).toBe(20_000)
  })
})

describe('a token', () => {
  it('tells its locker and its fence', () => {
    expect(parseToken(`${drawOwner('orders-7')}.1767225600000000`)).toEqual({
      name: 'orders-7',
      fence: 1_767_225_600_000_000,
    })
    expect(parseToken(`${drawOwner()}.7`)).toEqual({ name: null, fence: 7 })
  })

  it('of a locker whose name looks like an owner is still read right', () => {
    const name = drawOwner()
    expect(parseToken(`${drawOwner(name)}.3`)).toEqual({ name, fence: 3 })
  })

  it.each([
    ...['', '1', 'locked', '7', '.7', 'a.7', 'host:4711', '550e8400-e29b-41d4-a716-446655440000'],
    ...[drawOwner(), `${drawOwner()}.`, `${drawOwner()}.x`, `${drawOwner()}.1.5`, `${drawOwner()}.-1`],
    ...[`a b.${drawOwner()}.1`, `.${drawOwner()}.1`, `${drawOwner().toUpperCase()}X.1`, `${drawOwner()}.7\n`],
    ...[null, undefined, 7, {}, [`${drawOwner()}.7`]],
  ])('is not what a foreign holder wrote: %j', (value) => {
    expect(parseToken(value)).toBeUndefined()
  })
})
