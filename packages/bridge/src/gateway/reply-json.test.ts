import { expect, test } from 'vitest'
import type { GatewayReply } from './gateway-redis.ts'
import { listPieces, replyWriter } from './reply-json.ts'

const text = 'naïve 🔑 "quoted" \\ \n\0\u2028 end\ufeff'
/** Longer than one piece, with characters of every length across each boundary. */
const long = `${text}€`.repeat(10_000)

test.each<[string, GatewayReply]>([
  ['null', null],
  ['a number', -1],
  ['text', text],
  ['long text', long],
  ['an empty array', []],
  ['an array', [1, text, null, [], [[long], 'OK'], text]],
])('%s is the JSON that it would be at once', (_, reply) => {
  expect([...replyWriter(false)(reply)].join('')).toBe(JSON.stringify({ result: reply }))
  const bytes = typeof reply === 'string' ? Buffer.from(reply) : reply
  expect([...replyWriter(false)(bytes)].join('')).toBe(JSON.stringify({ result: reply }))
  expect([...listPieces([reply, reply], replyWriter(false))].join('')).toBe(
    JSON.stringify([{ result: reply }, { result: reply }]),
  )
})

test('long bytes are the base64 that they would be at once', () => {
  const bytes = Buffer.from(Array.from({ length: 1_000_001 }, (_, index) => (index * 7) % 256))
  expect([...replyWriter(true)(bytes)].join('')).toBe(`{"result":"${bytes.toString('base64')}"}`)
})

test('bytes that end within a character, and those that are none, are U+FFFD across pieces too', () => {
  const bytes = Buffer.concat([Buffer.from(long), Buffer.from([0xff]), Buffer.from(long), Buffer.from([0xf0, 0x9f])])
  expect([...replyWriter(false)(bytes)].join('')).toBe(JSON.stringify({ result: bytes.toString() }))
})

test('no piece is much longer than what is written in one go', () => {
  for (const base64 of [true, false]) {
    const lengths = [...replyWriter(base64)([long, [Buffer.from(long)]])].map((piece) => piece.length)
    expect(Math.max(...lengths)).toBeLessThan(100_000)
  }
})

test('how deep it nests does not matter', () => {
  let deep: GatewayReply = 'x'
  for (let depth = 0; depth < 100_000; depth++) deep = [deep]
  expect([...replyWriter(false)(deep)].join('')).toBe(`{"result":${'['.repeat(100_000)}"x"${']'.repeat(100_000)}}`)
})
