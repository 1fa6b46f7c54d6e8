import type { Locker, LockerEvent } from '@leasehold/core'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { lockedRoutes } from './locked-routes.ts'
import { onceRoutes } from './once-routes.ts'

export interface TestAppOptions {
  readonly lockerWith: (onEvent: (event: LockerEvent) => void) => Locker
  /** Waits at the gate of that name until the test opens it. */
  readonly pass: (gate: string) => Promise<unknown>
}

/** The app under test, on each runtime. */
export function testApp({ lockerWith, pass }: TestAppOptions): Pick<Hono, 'fetch'> {
  const seen = { contended: 0, 'acquire-failed': 0 }
  const locks = lockerWith(({ type }) => {
    if (type in seen) seen[type as keyof typeof seen]++
  })
  return new Hono()
    .get('/seen', (c) => c.json(seen))
    .route('/once', onceRoutes(locks, pass))
    .route('/', lockedRoutes(locks, pass))
    .onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text(error.message, 500)))
}
