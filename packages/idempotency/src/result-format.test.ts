import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeResult, encodeResult } from './result-format.ts'

const result = fc.record({
  status: fc.integer({ min: 200, max: 599 }),
  statusText: fc.string({ unit: 'binary' }),
  headers: fc.array(fc.tuple(fc.string(), fc.string({ unit: 'binary' }))),
  body: fc.uint8Array({ maxLength: 2_000 }),
})

it('a result is read as it was written', () => {
  fc.assert(
    fc.property(result, (given) => {
      expect(decodeResult(encodeResult(given))).toEqual(given)
    }),
  )
})

it('bytes that are no result, or one cut short within its head, are told, and do not throw', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void decodeResult(bytes)))
  const encoded = encodeResult({ status: 200, statusText: '', headers: [['a', 'b']], body: new Uint8Array() })
  for (let length = 0; length < encoded.length; length++) {
    expect(decodeResult(encoded.subarray(0, length))).toBeUndefined()
  }
  expect(decodeResult(Uint8Array.of(2, ...encoded.subarray(1)))).toBeUndefined()
})
