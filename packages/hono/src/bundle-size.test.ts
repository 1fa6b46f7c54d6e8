import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { compressedBytes, edgeBundle } from '../../../test/support/edge-bundle.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const external = [
  '@leasehold/core',
  '@leasehold/core/adapter',
  '@leasehold/core/redis',
  '@leasehold/core/requests',
  '@leasehold/idempotency',
]
const all = `export * from './index.ts'`

describe('bundled', () => {
  it.each([
    ['locked', 1_000],
    ['idempotent', 1_080],
  ])('%s alone weighs at most %i bytes, and nothing of the other', async (name, limit) => {
    const code = await edgeBundle(`export { ${name} } from './index.ts'`, { folder, external })
    console.log(`${name}: ${compressedBytes(code)} of ${limit} bytes alone`)
    expect(compressedBytes(code)).toBeLessThanOrEqual(limit)
    expect(code.includes('@leasehold/idempotency')).toBe(name === 'idempotent')
  })

  it('it needs nothing of Node, and nothing of Hono but types', async () => {
    const code = await edgeBundle(all, { folder })
    expect(code.match(/node:|\bprocess\b|\bBuffer\b|\brequire\b|getExecutionContext|HonoRequest/g)).toBeNull()
  })

  it('it does nothing but compute when it is imported and made, as at the module scope of a Worker', async () => {
    const script = await edgeBundle(all, { folder, format: 'iife' })
    const context = createContext({})
    runInContext('delete Math.random; delete Date.now; delete globalThis.Promise', context)
    for (const made of ['locked({ locks() {}, key() {} })', `idempotent({ locks() {}, scope: 'all' })`]) {
      expect(runInContext(`${script}; typeof leasehold.${made}`, context)).toBe('function')
    }
  })
})
