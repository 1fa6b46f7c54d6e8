import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { mostEntries, mostKnown } from '../store/presence-limits.ts'

it('the scripts go by the figures of the memory store', () => {
  const script = readFileSync(new URL('enter.lua', import.meta.url), 'utf8')
  expect(script).toContain(`mostEntries, mostKnown = tonumber(ARGV[1]), ${mostEntries}, ${mostKnown}\n`)
})
