import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'

/** What the fetch transport may weigh, minified and compressed, the error class of the core included, in bytes. */
const limit = 1_760

/** As an edge project would bundle it: nothing external, nothing shimmed. */
async function bundle(contents: string, format: 'esm' | 'iife' = 'esm'): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' },
    bundle: true,
    write: false,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    format,
    globalName: 'leasehold',
    conditions: ['workerd'],
  })
  return outputFiles[0]?.text ?? ''
}

describe('bundled', () => {
  it(`the fetch transport weighs at most ${limit} bytes`, async () => {
    const code = await bundle(`export { fetchTransport } from './fetch-transport.ts'`)
    const size = gzipSync(code, { level: 9 }).byteLength
    console.log(`fetchTransport: ${size} of ${limit} bytes`)
    expect(size).toBeLessThanOrEqual(limit)
  })

  it('the package needs nothing of Node, and not the client', async () => {
    const code = await bundle(`export * from './index.ts'`)
    expect(code.match(/node:|\bprocess\b|\bBuffer\b|\brequire\b|Upstash-Telemetry/g)).toBeNull()
  })

  it('does nothing but compute when it is imported and stores are made, as at the module scope of a Worker', async () => {
    const script = await bundle(`export * from './index.ts'`, 'iife')
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
