import type { FastifyInstance } from 'fastify'

/**
 * Has Fastify keep the bytes of bodies in this scope of the app, whatever their type, in place of parsing them. Then two requests
 * with one `Idempotency-Key` are told apart by their bytes, and handlers may take any type. JSON needs it not: it counts by its meaning.
 *
 * @example
 * ```ts
 * await app.register(async (scope) => {
 *   keepBytes(scope)
 *   scope.post('/uploads', idempotent({ locks, scope: 'shop' }, upload))
 * })
 * ```
 */
export function keepBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}
