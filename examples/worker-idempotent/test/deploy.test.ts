import { fileURLToPath } from 'node:url'
import { deploySizeKiB } from '@leasehold/example-local/wrangler'
import { expect, test } from 'vitest'
import { compressedBytes, edgeBundle } from '../../../test/support/edge-bundle.ts'

const limitKiB = 35.5
/** What of it is Leasehold, in bytes. */
const limitOurs = 31_600

/** What the Worker uses of Leasehold, each part with what it is for. */
const parts = [
  [
    'a locker over fetch',
    `export { createLocker } from '@leasehold/core'; export { fetchStore } from '@leasehold/upstash'`,
  ],
  ['wake-ups through a bridge', `export { bridgeNotifier } from '@leasehold/bridge-client'`],
  ['idempotent()', `export { idempotent } from '@leasehold/idempotency'`],
  ['the watchdog', `export { leaseWatchdog, watchdog } from '@leasehold/cloudflare'`],
  ['detach and resume', `export { detach, resume } from '@leasehold/core/hand-over'`],
] as const

test(`it can be deployed, and weighs at most ${limitKiB} KiB`, { timeout: 60_000 }, async () => {
  const size = await deploySizeKiB(new URL('..', import.meta.url))
  console.log(`worker-idempotent: ${size} KiB`)
  expect(size).toBeGreaterThan(0)
  expect(size).toBeLessThanOrEqual(limitKiB)
})

test(`of that, Leasehold is at most ${limitOurs} bytes`, async () => {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  const options = { folder, external: ['cloudflare:workers'] }
  let bytes = 0
  let contents = ''
  for (const [name, exported] of parts) {
    contents += `${exported}\n`
    const grown = compressedBytes(await edgeBundle(contents, options))
    console.log(`${name}: ${grown - bytes} bytes`)
    bytes = grown
  }
  console.log(`in all: ${bytes} bytes`)
  expect(bytes).toBeLessThanOrEqual(limitOurs)
})
