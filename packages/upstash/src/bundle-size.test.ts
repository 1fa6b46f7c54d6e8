import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { compressedBytes, edgeBundle } from '../../../test/support/edge-bundle.ts'

/** The largest allowed size of the fetch transport, with the core's error class, minified and compressed, in bytes. */
const limit = 1_775

const folder = fileURLToPath(new URL('.', import.meta.url))

describe('bundled', () => {
  it(`the fetch transport weighs at most ${limit} bytes`, async () => {
    const code = await edgeBundle(`export { fetchTransport } from './fetch-transport.ts'`, { folder })
    const size = compressedBytes(code)
    console.log(`fetchTransport: ${size} of ${limit} bytes`)
    expect(size).toBeLessThanOrEqual(limit)
  })

  it('the package needs nothing of Node, and not the client', async () => {
    const code = await edgeBundle(`export * from './index.ts'`, { folder })
    expect(code.match(/node:|\bprocess\b|\bBuffer\b|\brequire\b|Upstash-Telemetry/g)).toBeNull()
  })

  it('does nothing but compute when it is imported and stores are made, as at the module scope of a Worker', async () => {
    const script = await edgeBundle(`export * from './index.ts'`, { folder, format: 'iife' })
    const make = `
      const client = { baseUrl: 'https://host.example', headers: { authorization: 'Bearer token' } }
      leasehold.upstashStore({ createScript() {}, pipeline() {}, client })
      leasehold.fetchStore({ url: 'https://host.example', token: 'token' })
    `
    const context = createContext({ URL, TextEncoder, AbortController })
    runInContext('delete Math.random; delete Date.now', context)
    expect(runInContext(`${script}; ${make}`, context)).toHaveProperty('acquire')
  })
})
