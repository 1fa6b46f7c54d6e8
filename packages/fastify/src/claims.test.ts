import { idempotent, locked } from '@leasehold/fastify'
import { type FastifyRequest, fastify } from 'fastify'
import { describe } from 'vitest'
import { frameworkClaims } from '../../../test/support/framework-claims.ts'

describe('in Fastify 5', () => {
  frameworkClaims(async (work) => {
    const { locks, seen, runs } = work
    const app = fastify({ forceCloseConnections: true })
    const key = ({ params }: FastifyRequest): string => (params as { readonly key: string }).key
    const scope = ({ headers }: FastifyRequest): string => String(headers['x-tenant'] ?? 'anonymous')
    app.setErrorHandler(({ message }: Error, _request, reply) => reply.code(500).type('text/plain').send(message))
    app.get('/seen', async () => seen)
    app.get('/once/runs/:key', async (request) => runs.get(key(request)) ?? 0)
    app.route({
      method: ['GET', 'POST'],
      url: '/once/payments',
      handler: idempotent({ locks, scope, headers: ['x-receipt'] }, (request) => work.once(request)),
    })
    const under = (options: object) => locked({ locks, key, ...options }, (request) => work.locked(request))
    app.get('/at-once/:key', under({ wait: 0, ttl: '1500ms' }))
    app.get('/or-423/:key', under({ wait: 0, onContended: 423 }))
    app.get('/patient/:key', under({ wait: '40s', ttl: '40s' }))
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    return { url, close: () => app.close() }
  })
})
