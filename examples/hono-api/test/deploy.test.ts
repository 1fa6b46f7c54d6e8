import { deploySizeKiB } from '@leasehold/example-local/wrangler'
import { expect, test } from 'vitest'

/** 31.2 are the shop, over a locker; 9.1 are idempotency and its records, 1.5 the middleware, and 1.0 its routes. */
const limitKiB = 43.6

test(`it can be deployed, and weighs at most ${limitKiB} KiB`, { timeout: 60_000 }, async () => {
  const size = await deploySizeKiB(new URL('..', import.meta.url))
  console.log(`hono-api: ${size} KiB`)
  expect(size).toBeGreaterThan(0)
  expect(size).toBeLessThanOrEqual(limitKiB)
})
