import type { RedisServer } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gates } from '../../../test/runtimes/gates.ts'
import { lockedClaims } from './locked-claims.ts'
import { onceClaims } from './once-claims.ts'

/** The app of `testApp`, served over HTTP, and the Redis behind it. */
export interface ServedApp extends AsyncDisposable {
  readonly url: string
  /** Sends a request, and returns a function that makes its client leave; resolves when it has left. */
  asClient(path: string): () => Promise<unknown>
  readonly gates: Gates
  readonly redis: RedisServer
}

/** Tests that hold wherever the app runs. */
export function claims(start: () => Promise<ServedApp>): void {
  let app: ServedApp
  beforeAll(async () => {
    app = await start()
  })
  afterAll(() => app[Symbol.asyncDispose]())
  lockedClaims(() => app)
  onceClaims(() => app)

  test('a Redis that is dead is a 503', async () => {
    await app.redis.kill()
    const payment = { method: 'POST', headers: { 'idempotency-key': 'dead' } }
    const answers = await Promise.all([fetch(`${app.url}/at-once/dead`), fetch(`${app.url}/once/payments`, payment)])
    expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
      [503, '2'],
      [503, '2'],
    ])
  })
}
