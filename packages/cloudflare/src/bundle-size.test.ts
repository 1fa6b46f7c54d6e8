import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { compressedBytes, edgeBundle } from '../../../test/support/edge-bundle.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const external = ['cloudflare:workers']
/** The baseline: what a Worker with a locker contains anyway. */
const locker = `
  export { createLocker } from '@leasehold/core'
  export { redisStore } from '@leasehold/core/redis'
`
const size = async (contents: string): Promise<number> =>
  compressedBytes(await edgeBundle(contents, { folder, external }))

describe('bundled', () => {
  /** What each may add to a Worker that has a locker, minified and compressed, in bytes. */
  it.each([
    ['watchdog', 910],
    ['requestScope', 175],
    ['leaseWatchdog', 2_690],
  ])('%s adds at most %i bytes to a locker', async (name, limit) => {
    const added = (await size(`${locker} export { ${name} } from './index.ts'`)) - (await size(locker))
    console.log(`${name}: ${added} of ${limit} bytes beside a locker`)
    expect(added).toBeLessThanOrEqual(limit)
  })

  it('it needs nothing of Node', async () => {
    const code = await edgeBundle(`export * from './index.ts'`, { folder, external })
    expect(code.match(/node:|\bprocess\b|\bBuffer\b|\brequire\b/g)).toBeNull()
  })

  it('it does nothing but compute when it is imported and made, as at the module scope of a Worker', async () => {
    const make = `export { watchdog } from './watchdog.ts'; export { requestScope } from './request-scope.ts'; export { shards } from './shards.ts'`
    const script = await edgeBundle(make, { folder, format: 'iife' })
    const context = createContext({})
    runInContext('delete Math.random; delete Date.now; delete globalThis.Promise', context)
    const made = `
      leasehold.requestScope({ waitUntil() {} })
      leasehold.watchdog({ getByName() {} }, { nameOf: leasehold.shards(8) })`
    expect(runInContext(`${script}; ${made}`, context)).toMatchObject({ minTtlMs: 120_000 })
  })
})
