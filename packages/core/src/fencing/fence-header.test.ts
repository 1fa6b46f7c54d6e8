import { describe, expect, test } from 'vitest'
import { fenceHeader, readFence, writeFence } from './fence-header.ts'

describe('the fence header', () => {
  test('carries a fence from holder to resource, to the last digit', () => {
    for (const fence of [1, 1_764_284_400_000_001, Number.MAX_SAFE_INTEGER]) {
      const headers = new Headers()
      writeFence(headers, fence)
      expect(new Request('https://printer.test', { headers }).headers.get('leasehold-fence')).toBe(String(fence))
      expect(readFence(headers)).toBe(fence)
    }
  })

  test('replaces the fence of an earlier lease', () => {
    const headers = new Headers({ [fenceHeader]: '1' })
    writeFence(headers, 2)
    expect(readFence(headers)).toBe(2)
  })

  test('is null where there is none', () => {
    expect(readFence(new Headers())).toBeNull()
  })

  test.each(['', '0', '-1', '+1', '1.5', '1e3', '0x10', '007', 'null', '1 2', '9007199254740992', '9'.repeat(400)])(
    'is malformed as %j, which names it',
    (text) => {
      expect(() => readFence(new Headers({ [fenceHeader]: text }))).toThrow(
        expect.objectContaining({ option: fenceHeader }),
      )
    },
  )

  test('is malformed when it was sent twice, so that nobody guesses which one counts', () => {
    const headers = new Headers([
      [fenceHeader, '5'],
      [fenceHeader, '6'],
    ])
    expect(() => readFence(headers)).toThrow(fenceHeader)
  })

  test.each([null, undefined, 0, -1, 1.5, Number.NaN, 2 ** 53, '1'])('is not written for the fence %s', (fence) => {
    const headers = new Headers()
    expect(() => writeFence(headers, fence as number)).toThrow(expect.objectContaining({ option: 'fence' }))
    expect(readFence(headers)).toBeNull()
  })
})
