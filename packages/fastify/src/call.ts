import { parsedBody, webRequest } from '@leasehold/core/requests'
import type { FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify'

/** A handler of a route with these parameters, this query, and so on. It answers undefined to a client that has left. */
export type Handler<R extends RouteGenericInterface> = (
  request: FastifyRequest<R>,
  reply: FastifyReply<R>,
) => Promise<Response | undefined>

/** What a handler has of Fastify beside the web request: parameters of the route, what hooks have left, and so on. */
export interface FastifyCall<R extends RouteGenericInterface = RouteGenericInterface> {
  readonly request: FastifyRequest<R>
  readonly reply: FastifyReply<R>
}

/**
 * The web request of a call. Its body is the one that Fastify has parsed: the bytes, if `keepBytes` is set, or the same JSON.
 *
 * @throws TypeError if no web request can be made of it
 */
export function requestOf<R extends RouteGenericInterface>({ request, reply }: FastifyCall<R>): Request {
  const { method, raw, body, protocol, host, originalUrl } = request
  return webRequest({
    method,
    url: `${protocol}://${host || 'localhost'}${originalUrl}`,
    rawHeaders: raw.rawHeaders,
    body: parsedBody(body, raw.headers),
    response: reply.raw,
  })
}
