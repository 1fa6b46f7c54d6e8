import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { compressedBytes, edgeBundle, itemisedBundle } from '../../../test/support/edge-bundle.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const core = ['', '/adapter', '/presence', '/hand-over'].map((path) => `@leasehold/core${path}`)
const locker = `
  export { createLocker } from '@leasehold/core'
  export { redisStore } from '@leasehold/core/redis'
`

/**
 * What each entry adds to a Worker with a locker, minified and compressed, in bytes; and without the core that it brings
 * along. What a hibernating session's own validity took: decision 26.
 */
it.each([
  ['sessions', 7_725, 3_940],
  ['hibernatingSessions', 5_490, 1_330],
])(
  '%s adds at most %i bytes to a locker, and is %i itself; it needs nothing of Node',
  async (name, limit, limitAlone) => {
    const own = `export { ${name} } from './index.ts'`
    const { code, items } = await itemisedBundle(own, { folder, external: core })
    const [withOwn, without] = await Promise.all([locker + own, locker].map((source) => edgeBundle(source, { folder })))
    const size = compressedBytes(withOwn as string) - compressedBytes(without as string)
    const alone = compressedBytes(code)
    console.log(`${name}: ${size} of ${limit} bytes beside a locker, ${alone} of ${limitAlone} alone`)
    console.log(`before compression: ${items.map(([file, bytes]) => `${file} ${bytes}`).join(', ')}`)
    expect(size).toBeLessThanOrEqual(limit)
    expect(alone).toBeLessThanOrEqual(limitAlone)
    expect((withOwn as string).match(/node:|\bprocess\b|\bBuffer\b|\brequire\b/g)).toBeNull()
  },
)
