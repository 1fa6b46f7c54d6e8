import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandOf, commandsOf } from '../../packages/bridge/src/gateway/request-commands.ts'
import { startTestGateway, type TestGateway } from '../../packages/bridge/test/gateway.ts'
import { rounds } from '../support/scale.ts'

const runs = { numRuns: rounds(20_000, 4_000) }
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const digits = fc.stringMatching(/^\d{1,30}$/)
/** Numbers as JSON may write them, whether or not a double can hold them. */
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9]\d{0,30}$/)),
    fc.oneof(fc.constant(''), digits),
    fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?\d{1,3}$/)),
  )
  .map(([sign, whole, fraction, exponent]) => sign + whole + (fraction && `.${fraction}`) + exponent)

/** An argument: its form in JSON, and what Redis must get. */
interface Argument {
  readonly json: string
  readonly sent: string
}
const asIs = (text: string): Argument => ({ json: text, sent: text })
const argument: fc.Arbitrary<Argument> = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => ({ json: JSON.stringify(text), sent: text })),
  fc.string({ unit: fc.constantFrom('"', '\\', '\\"', 'u', 'a', '[', ',') }).map((text) => ({
    json: JSON.stringify(text),
    sent: text,
  })),
  numberText.map(asIs),
  fc.maxSafeInteger().map((number) => asIs(JSON.stringify(number))),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => asIs(JSON.stringify(number))),
  fc.boolean().map((value) => asIs(String(value))),
)
const space = fc.stringMatching(/^[ \t\n\r]{0,2}$/)

/** An array in JSON, with any whitespace that is allowed. */
const arrayOf = (parts: readonly string[], gaps: readonly string[]): string =>
  `${gaps[0]}[${gaps[1]}${parts.map((part) => gaps[2] + part + gaps[3]).join(',')}]${gaps[4]}`
const gaps = fc.array(space, { minLength: 5, maxLength: 5 })

describe('the reader of commands', () => {
  it('takes every argument as it was written', () => {
    fc.assert(
      fc.property(fc.array(argument), gaps, (args, between) => {
        const json = arrayOf(['"NAME"', ...args.map(({ json: text }) => text)], between)
        const command = ['NAME', ...args.map(({ sent }) => sent)]
        expect(commandOf(bytesOf(json))).toEqual(command)
        expect(commandsOf(bytesOf(arrayOf([json, json], between)), 2)).toEqual([command, command])
      }),
      runs,
    )
  })

  it('takes what JSON.parse takes, if it is a command, and nothing else', () => {
    const token = fc.oneof(
      fc.constantFrom(
        '[',
        ']',
        ',',
        '"GET"',
        '"',
        '{',
        '}',
        ':',
        'null',
        'true',
        'fals',
        '-',
        '.',
        '\\',
        '\u0001',
        ' ',
      ),
      numberText,
    )
    let taken = 0
    fc.assert(
      fc.property(fc.array(token, { maxLength: 6 }), fc.boolean(), (tokens, whole) => {
        const text = whole ? `["GET",${tokens.join('')}]` : tokens.join('')
        const expected = commandBy(text)
        const read = (): unknown => commandOf(bytesOf(text)).map((arg) => numbersRounded(String(arg)))
        if (expected) {
          taken++
          expect(read()).toEqual(expected.map(numbersRounded))
        } else expect(read).toThrow(expect.objectContaining({ name: 'BadRequestError' }))
      }),
      runs,
    )
    expect(taken).toBeGreaterThan(100)
  })
})

/** The command according to the runtime's own parser; undefined if it is none. */
function commandBy(text: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value) || typeof value[0] !== 'string' || value[0] === '') return undefined
    return value.every((each) => ['string', 'number', 'boolean'].includes(typeof each)) ? value.map(String) : undefined
  } catch {
    return undefined
  }
}

/** For a comparison with a parser that rounds. */
const numbersRounded = (text: string): string => (Number.isNaN(Number(text)) ? text : String(Number(text)))

describe('through the gateway, and past it', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway()
  })
  afterAll(() => gateway[Symbol.asyncDispose]())

  it('Redis gets the same arguments and gives the same integers', async () => {
    const post = async (path: string, body: string): Promise<string> =>
      (await gateway.request(path, { method: 'POST', body })).text()
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { minLength: 1, maxLength: 20 }), async (args) => {
        const push = `["RPUSH", "gateway", ${args.map(({ json }) => json).join(', ')}]`
        expect(await post('/pipeline', `[["DEL", "gateway"], ${push}]`)).toMatch(`{"result":${args.length}}]`)
        await gateway.server.command('DEL', 'raw')
        await gateway.server.command('RPUSH', 'raw', ...args.map(({ sent }) => sent))
        const list = await gateway.server.command('LRANGE', 'raw', 0, -1)
        expect(await gateway.server.command('LRANGE', 'gateway', 0, -1)).toEqual(list)
        expect(JSON.parse(await post('/', '["LRANGE", "gateway", 0, -1]'))).toEqual({ result: list })
      }),
      { numRuns: rounds(1_000, 100) },
    )
    await fc.assert(
      fc.asyncProperty(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), async (integer) => {
        await gateway.server.command('DEL', 'n')
        expect(await post('/', `["INCRBY", "n", ${integer}]`)).toBe(`{"result":${integer}}`)
        expect(await gateway.server.command('GET', 'n')).toBe(String(integer))
      }),
      { numRuns: rounds(1_000, 100) },
    )
  })
})
