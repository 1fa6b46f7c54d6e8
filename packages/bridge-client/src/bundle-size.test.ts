import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { compressedBytes, edgeBundle } from '../../../test/support/edge-bundle.ts'

/** What the client may add to a Worker that has a locker, minified and compressed, in bytes: docs/decisions. */
const limit = 2_400
/** The same for the client alone, without the core. */
const limitAlone = 2_900

const folder = fileURLToPath(new URL('.', import.meta.url))
const client = `export { bridgeNotifier } from './index.ts'`
const streams = `; export { eventStreams } from './event-streams.ts'`
/** The baseline: what a Worker with any notifier contains anyway. */
const locker = `
  export { createLocker } from '@leasehold/core'
  export { notifiedWaiter } from '@leasehold/core/adapter'
  export { redisStore } from '@leasehold/core/redis'
`

describe('bundled', () => {
  it(`the client adds at most ${limit} bytes to a locker`, async () => {
    const alone = compressedBytes(
      await edgeBundle(client, { folder, external: ['@leasehold/core', '@leasehold/core/adapter'] }),
    )
    const size =
      compressedBytes(await edgeBundle(locker + client, { folder })) -
      compressedBytes(await edgeBundle(locker, { folder }))
    console.log(`bridgeNotifier: ${size} of ${limit} bytes beside a locker, ${alone} of ${limitAlone} alone`)
    expect(size).toBeLessThanOrEqual(limit)
    expect(alone).toBeLessThanOrEqual(limitAlone)
  })

  it('event streams cost a Worker nothing until it imports them, and the name of their mode is refused', async () => {
    const plain = await edgeBundle(client, { folder, format: 'iife' })
    const more =
      compressedBytes(await edgeBundle(client + streams, { folder, format: 'iife' })) - compressedBytes(plain)
    console.log(`eventStreams: ${more} bytes beside bridgeNotifier`)
    expect(more).toBeGreaterThan(500)
    const make = `leasehold.bridgeNotifier({ url: 'https://bridge.example', token: 'token', mode: 'sse' })`
    expect(() => runInContext(`${plain}; ${make}`, createContext({}))).toThrow(/"mode" must be .* eventStreams/)
  })

  it('it needs nothing of Node, and no Hono', async () => {
    const code = await edgeBundle(`export * from './index.ts'; ${streams}`, { folder })
    expect(code.match(/node:|\bprocess\b|\bBuffer\b|\brequire\b|hono/gi)).toBeNull()
  })

  it('it does nothing but compute when it is imported and made, as at the module scope of a Worker', async () => {
    const script = await edgeBundle(client + streams, { folder, format: 'iife' })
    const make = (mode: string) =>
      `leasehold.bridgeNotifier({ url: 'https://bridge.example', token: 'token', mode: ${mode} })`
    const context = createContext({})
    runInContext('delete Math.random; delete Date.now; delete globalThis.Promise', context)
    for (const mode of ['leasehold.eventStreams', '"long-poll"']) {
      expect(runInContext(`${script}; ${make(mode)}`, context)).toHaveProperty('subscribe')
    }
  })
})
