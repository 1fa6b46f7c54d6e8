import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './canonical-json.ts'
import { fingerprintOf } from './fingerprint.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const canonical = (text: string): string | undefined => canonicalJson(bytes(text))

function print(body: string, contentType: string | null = 'application/json', url = '/p', method = 'POST') {
  const headers = contentType === null ? {} : { 'content-type': contentType }
  return fingerprintOf(new Request(`https://shop.example${url}`, { method, headers }), bytes(body))
}

describe('JSON', () => {
  it('counts by its meaning: the order of members, white space and escapes do not matter', async () => {
    const spelled = ['{"b":[1,2],"a":{"y":"é","x":null}}', ' {"a":{"x":null,"y":"\\u00e9"} ,\n"b":[1.0,2]}']
    expect(await print(spelled[0] as string)).toBe(await print(spelled[1] as string, 'Application/JSON; charset=utf-8'))
  })

  it.each([
    ['{"a":1}', '{"a":2}'],
    ['[1,2]', '[2,1]'],
    ['{"a":"1"}', '{"a":1}'],
    ['{"a":null}', '{}'],
    ['{"amount":12345678901234567890}', '{"amount":12345678901234567891}'],
    ['[9007199254740993]', '[9007199254740992]'],
    ['[1e400]', '[1e401]'],
    ['[1e400]', '[null]'],
    ['[0.1000000000000000055]', '[0.1]'],
    ['{"__proto__":1}', '{}'],
    ['"\\ud800"', '"\\ud801"'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['[{"b":{"a":1,"\\u0061":2}}]', '[{"b":{"a":2}}]'],
    ['{"__proto__":1,"__proto__":2}', '{"__proto__":2}'],
  ])('%s is not %s', async (a, b) => {
    expect(await print(a)).not.toBe(await print(b))
  })

  it('has its form whatever its strings hold', () => {
    const text = '{":":"a:\\":","b":[{"c:":":"},{}]}'
    expect(canonical(` ${text}`)).toBe(text)
  })

  it('is bytes if it is broken, no UTF-8, too deep, or has numbers that a double cannot keep', () => {
    expect(['{', '[1e3]', '[1234567890.1234567]', '['.repeat(100_000) + ']'.repeat(100_000)].map(canonical)).toEqual(
      Array(4).fill(undefined),
    )
    expect(canonicalJson(Uint8Array.of(0x22, 0xff, 0x22))).toBeUndefined()
    expect(canonical('{"card":"4111111111111111","n":-0.5}')).toBe('{"card":"4111111111111111","n":-0.5}')
    expect(canonical(`"${'a'.repeat(1_000_000)}"`)).toHaveLength(1_000_002)
  })

  it('of one value has one form, however it is written', () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, part]) => [name, shuffled(part)]),
      )
    }
    // All of these have a canonical form: a double can represent each of these numbers.
    const values = [fc.string(), fc.integer(), fc.integer().map((n) => n / 4), fc.boolean(), fc.constant(null)]
    fc.assert(
      fc.property(fc.anything({ values }), (value) => {
        const form = canonical(JSON.stringify(value))
        expect(form).toBeDefined()
        expect(canonical(JSON.stringify(shuffled(value), null, 2))).toBe(form)
      }),
    )
  })
})

it('the method, the path, the query and the media type count, and the host and parameters do not', async () => {
  const all = await Promise.all([
    print('a', 'text/plain'),
    print('a', 'text/html'),
    print('a', null),
    print('1', 'application/json'),
    print('1', 'text/plain'),
    print('a', 'text/plain', '/q'),
    print('a', 'text/plain', '/p?x=1'),
    print('a', 'text/plain', '/p', 'PATCH'),
  ])
  expect(new Set(all).size).toBe(all.length)
  expect(all[0]).toMatch(/^[0-9a-f]{64}$/)
  expect(await print('a', 'TEXT/plain;charset=utf-8')).toBe(all[0])
})
