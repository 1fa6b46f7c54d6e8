import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parseLuaScript, renderScriptModule } from './lua-script.ts'

const source = `-- Grants the lock if nobody holds it.
-- @arg memory  how long a fence is remembered, ms
-- @key lock    the lock
-- @each acquisitionId  who asks
-- @returns 1 or 0

local memory = ARGV[1]
for i, lock in ipairs(KEYS) do
  local acquisitionId = ARGV[i + 1] -- the asker's "name"
  -- a whole line
  redis.call('SET', lock, acquisitionId .. '--' .. "it's -- not a comment", 'PX', memory)
end
return 1
`

describe('a Lua script', () => {
  test('becomes its code with short names, without comments and without needless white space', () => {
    expect(parseLuaScript(source).text).toBe(
      [
        'local a=ARGV[1]for b,c in ipairs(KEYS)do local d=ARGV[b+1]',
        `redis.call('SET',c,d..'--'.."it's -- not a comment",'PX',a)end;return 1`,
      ].join(''),
    )
  })

  test('calls a local of the same name the same as the scripts before it, whatever else there is', () => {
    const short = new Map()
    parseLuaScript(source, short)
    const another = source.replace('local memory', 'local before, o = o, 2\nlocal memory')
    expect(parseLuaScript(another, short).text).toBe(
      [
        'local e,f=f,2;local a=ARGV[1]for b,c in ipairs(KEYS)do local d=ARGV[b+1]',
        `redis.call('SET',c,d..'--'.."it's -- not a comment",'PX',a)end;return 1`,
      ].join(''),
    )
  })

  test('tells its shared arguments, keys and repeated arguments apart, in order', () => {
    const script = parseLuaScript(source.replace('-- @each', '-- @key i  another\n-- @each'))
    expect(script).toMatchObject({ args: ['memory'], keys: ['lock', 'i'], each: ['acquisitionId'] })
  })

  test('counts a name only where it is a variable, not where it is a field, a string or a comment', () => {
    const asVariable = source
      .replace('return 1\n', 'return "x"..late\n')
      .replace('-- @each', '-- @each late  x\n-- @each')
    expect(parseLuaScript(asVariable).each).toEqual(['late', 'acquisitionId'])
    for (const use of ['x.late', 'x:late()', '"late"', '1 -- late']) {
      const elsewhere = asVariable.replace('"x"..late', use)
      expect(() => parseLuaScript(elsewhere)).toThrow('documents "late", but its code never uses that name')
    }
  })

  test.each([
    ['no first sentence', source.replace(/^.*\n/, ''), 'must open with "-- " and one sentence'],
    ['no @returns line', source.replace('-- @returns 1 or 0\n', ''), 'has no "-- @returns" line'],
    ['an empty @returns line', source.replace(' 1 or 0', ''), 'does not say what is returned'],
    ['a name documented twice', source.replace('@each acquisitionId', '@each lock'), 'documents "lock" twice'],
    [
      'a name without description',
      source.replace('who asks', ''),
      'documents @each acquisitionId without a description',
    ],
    ['an unknown tag', source.replace('@each', '@argv'), 'has an unknown tag @argv'],
    ['a block comment', source.replace('-- a whole', '--[[ a whole'), 'has a block comment'],
    ['a long string', source.replace('return 1', 'return [[1\n  2]]'), 'has a long string'],
    ['code that is no Lua', source.replace('return 1', 'return return'), 'is not Lua'],
  ])('is refused for %s', (_, bad, message) => {
    expect(() => parseLuaScript(bad)).toThrow(message)
  })
})

describe('its module', () => {
  test('carries the code, the sha1 of exactly that code, and a type with the names', () => {
    const script = parseLuaScript(source)
    expect(renderScriptModule('try-acquire', script, '../script.ts')).toBe(
      `// Generated from ../try-acquire.lua; run \`pnpm generate\`.
import type { Script } from '../script.ts'

export const tryAcquire: Script<[memory: string], [lock: string], [acquisitionId: string]> = {
  sha1: '${createHash('sha1').update(script.text).digest('hex')}',
  text: \`${script.text}\`,
}
`,
    )
  })

  test('holds the code unchanged when that has characters a template literal would interpret', () => {
    const text = `return "\\n\`\${x}$"`
    const module = renderScriptModule('x', { args: [], keys: [], each: [], text }, '../script.ts')
    const literal = /text: (`[\s\S]*`),\n/.exec(module)?.[1]
    expect(new Function(`return ${literal}`)()).toBe(text)
  })
})
