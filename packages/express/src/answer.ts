import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response as ExpressResponse } from 'express'

/** List headers: values from earlier middleware are kept beside those of the answer. */
const lists = new Set(['access-control-expose-headers', 'set-cookie', 'vary'])

/** Sends an answer byte for byte. Resolves when all of it is sent, or its client has left. */
export async function send(answer: Response, res: ExpressResponse): Promise<void> {
  if (res.destroyed) return answer.body?.cancel()
  res.statusCode = answer.status
  if (answer.statusText) res.statusMessage = answer.statusText
  for (const [name, value] of answer.headers) {
    if (lists.has(name)) res.appendHeader(name, value)
    else res.setHeader(name, value)
  }
  if (!answer.body || res.req.method === 'HEAD') {
    await answer.body?.cancel()
    res.end()
    return
  }
  // A web response's stream is Node's own; only the types differ.
  const body = Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0])
  await pipeline(body, res).catch((error: unknown) => {
    if (!res.headersSent) throw error
  })
}
