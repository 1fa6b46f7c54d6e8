import { expect, test } from 'vitest'
import { base64Of, portableBase64 } from './base64.ts'

/** Every byte, every remainder of three, and more than a function takes as arguments. */
const lengths = [0, 1, 2, 3, 255, 256, 8_191, 8_192, 8_193, 200_000]

test.each(lengths)('%d bytes are the same in base64, whoever encodes them', (length) => {
  const around = Uint8Array.from({ length: length + 2 }, (_, index) => (index * 7) % 256)
  // A view into the middle of a larger buffer, as the parts of a reply are.
  const bytes = around.subarray(1, length + 1)
  const expected = Buffer.from(bytes).toString('base64')
  expect(base64Of(bytes)).toBe(expected)
  expect(portableBase64(bytes)).toBe(expected)
})

test('text is encoded as UTF-8', () => {
  expect(base64Of('naïve 🔑')).toBe(Buffer.from('naïve 🔑').toString('base64'))
})
