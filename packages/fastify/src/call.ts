import { parsedBody, webRequest } from '@leasehold/core/requests'
import type { FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify'

/** A handler of a route with these parameters, this query, and so on. It returns undefined if the client has left. */
export type Handler<R extends RouteGenericInterface> = (
  request: FastifyRequest<R>,
  reply: FastifyReply<R>,
) => Promise<Response | undefined>

/** What a handler gets from Fastify beside the web request: route parameters, what hooks have left, and so on. */
export interface FastifyCall<R extends RouteGenericInterface = RouteGenericInterface> {
  readonly request: FastifyRequest<R>
  readonly reply: FastifyReply<R>
}

/**
 * The web request of a call. Its body is what Fastify has parsed: the bytes, with `keepBytes`, or the same JSON.
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
