import type { FastifyInstance } from 'fastify'

/**
 * Has Fastify keep the bytes of bodies in this scope of the app, whatever their type, instead of parsing them. Then two
 * requests with the same `Idempotency-Key` are told apart by their bytes, and handlers may take any type. JSON does not
 * need this: it is compared by its meaning.
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
