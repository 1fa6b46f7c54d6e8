/*
 * A separate process: a server for each framework, whose payments are idempotent. Each payment adds one to a counter in
 * Redis. The first one to `/hang` never answers. Arguments: the Redis URL, the ttl in milliseconds, what to do about a
 * key in doubt. It reports the URLs of the servers, in the order of the frameworks, and then each payment.
 */
import { createLocker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { frameworks } from './frameworks.ts'
import { quiet } from './quiet.ts'

const [url = '', ttl = '', inDoubt = ''] = process.argv.slice(2)
const redis = quiet(new Redis(url))
const locks = createLocker({ store: ioredisStore(redis), name: 'payments' })
const settings = { locks, ttl: Number(ttl), inDoubt: inDoubt === 'rerun' ? 'rerun' : 'reject' } as const
const servers = frameworks.map(({ name, serve }) =>
  serve({ ...settings, scope: `tenant of ${name}` }, async ({ url: paid }) => {
    const count = await redis.incr(`paid:${name}:${new URL(paid).pathname}`)
    process.send?.('paid')
    if (paid.endsWith('/hang') && count === 1) await new Promise(() => undefined)
    return Response.json({ count }, { status: 201 })
  }),
)
process.send?.((await Promise.all(servers)).map((server) => server.url))
