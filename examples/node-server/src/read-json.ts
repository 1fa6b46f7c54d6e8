import type { IncomingMessage } from 'node:http'
import { Problem } from './problem.ts'

/** An order is some hundred bytes long. */
const mostBytes = 16_384

/** @throws Problem for a body that is too long (at the first byte too many), of another type, or no JSON. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    throw new Problem(415, 'not-json', 'Send the request as application/json')
  }
  const chunks: Buffer[] = []
  let bytes = 0
  // The iterator would end the connection with the loop, and nobody would be told why.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Problem(413, 'too-long', `A request may have ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new Problem(400, 'invalid-request', 'The body is not JSON')
  }
}
