import { parsedBody, webRequest } from '@leasehold/core/requests'
import type { Request as ExpressRequest, Response as ExpressResponse } from 'express'
import { unreadBody } from './unread-body.ts'

/** What a handler has of Express beside the web request: parameters of the route, what earlier middleware has left, and so on. */
export interface ExpressCall {
  readonly req: ExpressRequest
  readonly res: ExpressResponse
}

/**
 * The web request of a call. Its body is the one that came, unless a parser of Express has read that.
 *
 * @throws TypeError if no web request can be made of it
 */
export function requestOf({ req, res }: ExpressCall): Request {
  const { method, rawHeaders, body, originalUrl } = req
  return webRequest({
    method,
    url: `${req.protocol}://${req.get('host') ?? 'localhost'}${originalUrl}`,
    rawHeaders,
    body: req.readableDidRead ? parsedBody(body, req.headers) : unreadBody(req),
    response: res,
  })
}
