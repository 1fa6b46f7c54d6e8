import type { Locker, LockerEvent } from '@leasehold/core'
import { type Context, Hono } from 'hono'
import { stream } from 'hono/streaming'
import { locked } from '../src/index.ts'

export interface LockedAppOptions {
  readonly lockerWith: (onEvent: (event: LockerEvent) => void) => Locker
  /** Stands at the gate of that name until the test opens it. */
  readonly pass: (gate: string) => Promise<unknown>
}

/** The app that `lockedClaims` asks, on each runtime. A handler does what the query says, and stands at the gate of its key. */
export function lockedApp({ lockerWith, pass }: LockedAppOptions): Pick<Hono, 'fetch'> {
  const seen = { contended: 0, 'acquire-failed': 0 }
  const locks = lockerWith(({ type }) => {
    if (type in seen) seen[type as keyof typeof seen]++
  })
  const key = (c: Context): string => c.req.param('key') as string
  let inside = 0

  return new Hono()
    .get('/seen', (c) => c.json(seen))
    .use('/at-once/:key', locked({ locks, key, wait: 0, ttl: '1500ms' }))
    .use('/or-423/:key', locked({ locks, key, wait: 0, onContended: 423 }))
    .use('/patient/:key', locked({ locks, key, wait: '40s', ttl: '40s' }))
    .get('/:how/:key', async (c) => {
      const most = ++inside
      // The others get a turn.
      await locks.isLocked(key(c))
      inside--
      const does = c.req.query('do')
      if (does === 'throw') throw new Error('broken')
      if (does === 'stream') {
        return stream(c, async (out) => {
          await out.write('begun ')
          await pass(key(c))
          await out.write('ended')
        })
      }
      if (does === 'wait') await pass(key(c))
      return c.json({ most })
    })
    .onError((error, c) => c.text(error.message, 500))
}
