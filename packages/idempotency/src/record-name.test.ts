import { checkKey, keyLayout } from '@leasehold/core/adapter'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { recordName } from './record-name.ts'

/** Adversarial text: separators, escapes, braces, patterns, and lengths on both sides of hashing. */
const part = fc.oneof(
  fc.string({ unit: fc.constantFrom(':', '%', '#', '{', '}', '*', '?', '[', '\\', 'a', '3', 'A'), minLength: 1 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }).filter((text) => text.isWellFormed()),
  fc.string({ unit: fc.constantFrom(':', 'a'), minLength: 100, maxLength: 300 }),
)

it('no two pairs of scope and key share a name', async () => {
  await fc.assert(
    fc.asyncProperty(part, part, part, part, async (scope, key, otherScope, otherKey) => {
      const same = scope === otherScope && key === otherKey
      expect((await recordName(scope, key)) === (await recordName(otherScope, otherKey))).toBe(same)
    }),
    { numRuns: 2_000 },
  )
  // Pairs whose border is moved by a character, which random pairs seldom hit.
  await fc.assert(
    fc.asyncProperty(part, part, fc.nat(), async (scope, key, at) => {
      const both = `${scope}:${key}`
      const border = 1 + (at % (both.length - 2))
      const other = [both.slice(0, border), both.slice(border + 1)] as const
      if (!other[1] || !both.isWellFormed() || !other[0].isWellFormed() || !other[1].isWellFormed()) return
      const same = other[0] === scope && other[1] === key
      expect((await recordName(scope, key)) === (await recordName(...other))).toBe(same)
    }),
  )
})

it('each is a key of core without a hash tag or a pattern, and shows a short scope', async () => {
  await fc.assert(
    fc.asyncProperty(part, part, async (scope, key) => {
      const name = await recordName(scope, key)
      checkKey(name)
      keyLayout().fence(name)
      expect(name).toMatch(/^idempotency:[^{}*?[\]\\]+$/)
    }),
  )
  expect(await recordName('tenant-1', '8e03978e-40d5')).toBe('idempotency:tenant-1:8e03978e-40d5')
  expect(await recordName('a'.repeat(500), 'k')).toMatch(/^idempotency:#[0-9a-f]{64}$/)
})
