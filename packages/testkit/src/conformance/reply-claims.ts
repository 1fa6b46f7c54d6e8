import { expect, it } from 'vitest'
import { callUntil } from '../call-until.ts'
import { evaluate, patient, script, value } from './transport-calls.ts'
import type { UseTransport } from './transport-under-test.ts'

/** Strings that some clients would decode into something else. */
const deceptive = ['', '123', '-1', '1e3', '0x10', '007', '1783024000123456', 'true', 'null', 'OK', 'nil', '"quoted"']
const structured = ['{"a":1}', '[1,2]', 'e30=', ' padded ', '$5', '+OK', '-ERR no error', 'a\r\nb']

const lua = (text: string): string => `'${text.replace(/[\\']/g, '\\$&').replace(/\r/g, '\\r').replace(/\n/g, '\\n')}'`

export function replyClaims(use: UseTransport): void {
  it('integers are numbers', async (context) => {
    const transport = use(context)
    for (const integer of [0, 1, -1, 42]) expect(await evaluate(transport, `return ${integer}`)).toEqual(value(integer))
  })

  // Not quite up to 2^53: ioredis 6 adds the last digit's character code before it subtracts that of "0".
  it('large integers up to 2^53 - 48 are exact', async (context) => {
    const transport = use(context)
    for (const integer of [2 ** 31, 2 ** 32 + 1, 2 ** 52 + 1, 2 ** 53 - 48, 48 - 2 ** 53]) {
      expect(await evaluate(transport, `return ${integer}`)).toEqual(value(integer))
    }
  })

  it('strings are strings, whatever they look like', async (context) => {
    const transport = use(context)
    for (const text of [...deceptive, ...structured]) {
      expect(await evaluate(transport, `return ${lua(text)}`), JSON.stringify(text)).toEqual(value(text))
    }
  })

  it('strings within arrays are strings, whatever they look like', async (context) => {
    const texts = [...deceptive, ...structured]
    const body = `return {1, {${texts.map(lua).join(',')}}}`
    expect(await evaluate(use(context), body)).toEqual(value([1, texts]))
  })

  it('a status reply is its text', async (context) => {
    expect(await evaluate(use(context), "return redis.status_reply('OK')")).toEqual(value('OK'))
  })

  it('nil is null, alone and within an array', async (context) => {
    const transport = use(context)
    expect(await evaluate(transport, 'return nil')).toEqual(value(null))
    expect(await evaluate(transport, 'return false')).toEqual(value(null))
    expect(await evaluate(transport, 'return {1, false, 3}')).toEqual(value([1, null, 3]))
  })

  it('arrays keep their nesting and their order', async (context) => {
    const transport = use(context)
    expect(await evaluate(transport, 'return {}')).toEqual(value([]))
    expect(await evaluate(transport, "return {{}, {1, 'two', {3, {'four'}}}, 'five', {{}}}")).toEqual(
      value([[], [1, 'two', [3, ['four']]], 'five', [[]]]),
    )
  })

  it('strings of any script arrive unchanged, there and back', async (context) => {
    const transport = use(context)
    const texts = ['é e\u0301', '주문', 'طلب', '🔒👩‍👩‍👧', '\u2028\ufeff\u00a0', '"\\\'`$\r\n\t', '\u007f\u0080\uffff']
    const reply = await evaluate(
      transport,
      'local sizes = {} for i, a in ipairs(ARGV) do sizes[i] = #a end return {ARGV, sizes}',
      texts,
    )
    const bytes = texts.map((text) => new TextEncoder().encode(text).length)
    expect(reply).toEqual(value([texts, bytes]))
  })

  it('control characters arrive unchanged, U+0000 included', async (context) => {
    const transport = use(context, 'any-character')
    const text = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join('')
    expect(await evaluate(transport, 'return {ARGV[1], #ARGV[1]}', [text])).toEqual(value([text, 32]))
  })

  it('a long string arrives whole', async (context) => {
    const text = '0123456789abcdef'.repeat(16_384)
    expect(await evaluate(use(context), 'return {ARGV[1], #ARGV[1]}', [text])).toEqual(value([text, text.length]))
  })

  it("a script's own error arrives as an error, with its text", async (context) => {
    const reply = await evaluate(use(context), "return redis.error_reply('TEAPOT short and stout')")
    expect(reply).toEqual({
      type: 'error',
      message: expect.stringMatching(/^TEAPOT short and stout/),
    })
  })

  it('an error of a command within the script arrives as an error, with its text', async (context) => {
    const body = "redis.call('SET', KEYS[1], '1', 'PX', 10000) return redis.call('LPUSH', KEYS[1], '1')"
    const reply = await evaluate(use(context), body)
    expect(reply).toEqual({
      type: 'error',
      message: expect.stringContaining('WRONGTYPE'),
    })
  })

  it('a script that does not compile is an error', async (context) => {
    expect(await evaluate(use(context), 'return return')).toMatchObject({
      type: 'error',
    })
  })

  it('an unknown sha1 is the error NOSCRIPT', async (context) => {
    const call = { ...script('0'.repeat(40)), command: 'EVALSHA' as const }
    const replies = await use(context).run([call], callUntil(patient()))
    expect(replies).toEqual([{ type: 'error', message: expect.stringMatching(/^NOSCRIPT/) }])
  })
}
