import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { compressedBytes, edgeBundle } from '../../../test/support/edge-bundle.ts'

/** What the package may weigh by itself, the core left out, minified and compressed, in bytes: decision 21. */
const limitAlone = 5_000

const folder = fileURLToPath(new URL('.', import.meta.url))
const external = ['@leasehold/core', '@leasehold/core/adapter', '@leasehold/core/records']

describe('bundled', () => {
  it(`the package weighs at most ${limitAlone} bytes alone`, async () => {
    const alone = compressedBytes(await edgeBundle(`export { idempotent } from './index.ts'`, { folder, external }))
    console.log(`idempotent: ${alone} of ${limitAlone} bytes alone`)
    expect(alone).toBeLessThanOrEqual(limitAlone)
  })
})
