import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { compressedBytes, edgeBundle, itemisedBundle } from '../../../test/support/edge-bundle.ts'

/** What the package may add to a Worker that has a locker with records, minified and compressed, in bytes: decision 21. */
const limit = 5_235
/** The same for the package alone, without the core. */
const limitAlone = 5_780

const folder = fileURLToPath(new URL('.', import.meta.url))
const external = ['@leasehold/core', '@leasehold/core/adapter', '@leasehold/core/records']
const own = `export { idempotent } from './index.ts'`
/** The part of the Worker that is there anyway. */
const records = `
  export { createLocker } from '@leasehold/core'
  export { redisStore } from '@leasehold/core/redis'
  export { claimRecord } from '@leasehold/core/records'
`

describe('bundled', () => {
  it(`the package adds at most ${limit} bytes to a locker with records`, async () => {
    const { code, items } = await itemisedBundle(own, { folder, external })
    const alone = compressedBytes(code)
    const size =
      compressedBytes(await edgeBundle(records + own, { folder })) -
      compressedBytes(await edgeBundle(records, { folder }))
    const listed = items.map(([file, bytes]) => `${file} ${bytes}`).join(', ')
    console.log(`idempotent: ${size} of ${limit} bytes beside a locker with records, ${alone} of ${limitAlone} alone`)
    console.log(`before compression: ${listed}`)
    expect(size).toBeLessThanOrEqual(limit)
    expect(alone).toBeLessThanOrEqual(limitAlone)
  })

  it('it needs nothing of Node', async () => {
    const code = await edgeBundle(`export * from './index.ts'`, { folder })
    expect(code.match(/node:|\bprocess\b|\bBuffer\b|\brequire\b/g)).toBeNull()
  })

  it('it does nothing but compute when it is imported and made, as at the module scope of a Worker', async () => {
    const contents = `${own}; export { createLocker } from '@leasehold/core'; export { redisStore } from '@leasehold/core/redis'`
    const script = await edgeBundle(contents, { folder, format: 'iife' })
    const context = createContext({ transport: { commandDeadlineMs: 1_000, cluster: false, nodeOf: () => '' } })
    runInContext('delete Math.random; delete Date.now; delete globalThis.Promise', context)
    const made = `leasehold.idempotent({ locks: leasehold.createLocker({ store: leasehold.redisStore(transport) }), scope: 'a' })`
    expect(runInContext(`${script}; ${made}`, context)).toBeTypeOf('function')
  })
})
