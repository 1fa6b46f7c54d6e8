import { deploySizeKiB } from '@leasehold/example-local/wrangler'
import { expect, test } from 'vitest'

/** Most of it is Leasehold: `test/bundle` weighs each part. */
const limitKiB = 33.7
test(`it can be deployed, and weighs at most ${limitKiB} KiB`, { timeout: 60_000 }, async () => {
  const size = await deploySizeKiB(new URL('..', import.meta.url))
  console.log(`worker-idempotent: ${size} KiB`)
  expect(size).toBeGreaterThan(0)
  expect(size).toBeLessThanOrEqual(limitKiB)
})
