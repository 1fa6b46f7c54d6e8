import { parsedBody, webRequest } from '@leasehold/core/requests'
import type { Request as ExpressRequest, Response as ExpressResponse } from 'express'
import { unreadBody } from './unread-body.ts'

/**
 * What a handler gets from Express beside the web request: route parameters, what earlier middleware has left, and so
 * on.
 */
export interface ExpressCall {
  readonly req: ExpressRequest
  readonly res: ExpressResponse
}

/**
 * The web request of a call. Its body is the original one, unless an Express parser has read it.
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
