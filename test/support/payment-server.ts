/*
 * A separate process: a server whose payments are idempotent. Each payment adds one to a counter in Redis. A payment to
 * `/hang` never answers. Arguments: the Redis URL, the ttl in milliseconds, what to do about a key in doubt.
 */
import { createLocker } from '@leasehold/core'
import { idempotent } from '@leasehold/idempotency'
import { ioredisStore } from '@leasehold/ioredis'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { quiet } from './quiet.ts'

const [url = '', ttl = '', inDoubt = ''] = process.argv.slice(2)
const redis = quiet(new Redis(url))
const locks = createLocker({ store: ioredisStore(redis), name: 'payments' })
const handle = idempotent({
  locks,
  scope: 'tenant',
  ttl: Number(ttl),
  inDoubt: inDoubt === 'rerun' ? 'rerun' : 'reject',
})
const app = new Hono().all('/*', ({ req }) =>
  handle(req.raw, async ({ url: paid }) => {
    const count = await redis.incr(`paid:${new URL(paid).pathname}`)
    process.send?.('paid')
    if (paid.endsWith('/hang') && count === 1) await new Promise(() => undefined)
    return Response.json({ count }, { status: 201 })
  }),
)
const server = await listen(app, { host: '127.0.0.1', port: 0 })
process.send?.(server.url)
