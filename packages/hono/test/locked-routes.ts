import type { Locker } from '@leasehold/core'
import { type Context, Hono } from 'hono'
import { stream } from 'hono/streaming'
import { locked } from '../src/index.ts'

/** Routes under the lock of their key. A handler does what the query says, and waits at the gate of its key. */
export function lockedRoutes(locks: Locker, pass: (gate: string) => Promise<unknown>): Hono {
  const key = (c: Context): string => c.req.param('key') as string
  let inside = 0
  const routes = new Hono()
  routes.use('/at-once/:key', locked({ locks, key, wait: 0, ttl: '1500ms' }))
  routes.use('/or-423/:key', locked({ locks, key, wait: 0, onContended: 423 }))
  routes.use('/patient/:key', locked({ locks, key, wait: '40s', ttl: '40s' }))
  routes.get('/:how/:key', async (c) => {
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
  return routes
}
