import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Problem, problemOf } from './problem.ts'
import { readJson } from './read-json.ts'
import type { Route } from './routes.ts'

/** No client may take longer to send its request, in milliseconds. */
const requestTimeout = 10_000

export interface HttpServer {
  readonly url: string
  /** Takes no new connection. Requests that were begun go on. */
  refuse(): void
  /** Resolves when every request is answered. */
  close(): Promise<void>
}

export async function serve(
  routes: readonly Route[],
  { port, host }: { readonly port: number; readonly host: string },
): Promise<HttpServer> {
  const open = new Set<ServerResponse>()
  const server = createServer({ requestTimeout }, async (request, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
    const reply = await replyTo(routes, request, response)
    if (!reply) return
    // A server that closes waits for its connections, so none is kept for a next request then. Neither is one whose
    // request was not read to its end: the rest would be taken for the next.
    if (!server.listening || !request.complete) response.setHeader('connection', 'close')
    response.writeHead(reply.status, reply.headers)
    response.end(`${JSON.stringify(reply.body)}\n`)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const { port: actualPort } = server.address() as AddressInfo
  const closed = once(server, 'close')
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actualPort}`,
    refuse: () => void server.close(),
    async close() {
      await Promise.all(Array.from(open, (response) => once(response, 'close')))
      // What is left are connections without a request. Those that never had one are not "idle" to Node.
      server.closeAllConnections()
      await closed
    },
  }
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** Never rejects; answers undefined if nobody is there any more to be answered. */
async function replyTo(
  routes: readonly Route[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Reply | undefined> {
  const gone = new AbortController()
  response.once('close', () => gone.abort(new Problem(499, 'client-gone', 'The client is gone')))
  try {
    const url = URL.parse(request.url ?? '/', 'http://localhost')
    if (!url) throw new Problem(400, 'invalid-request', 'The address cannot be read')
    const { route, params } = find(routes, request.method, url.pathname)
    const body = request.method === 'POST' ? await readJson(request) : undefined
    const answer = await route.handle({ params, query: url.searchParams, body, signal: gone.signal })
    return { ...answer, headers: { 'content-type': 'application/json' } }
  } catch (error) {
    if (gone.signal.aborted) return undefined
    const { status, type, message: detail, headers } = problemOf(error)
    const body = { type: `/problems/${type}`, status, detail }
    return { status, headers: { 'content-type': 'application/problem+json', ...headers }, body }
  }
}

function find(
  routes: readonly Route[],
  method: string | undefined,
  path: string,
): { route: Route; params: Readonly<Record<string, string>> } {
  const fitting = routes.filter((route) => route.path.test(path))
  const route = fitting.find((each) => each.method === method)
  if (route) return { route, params: route.path.exec(path)?.groups ?? {} }
  if (fitting.length === 0) throw new Problem(404, 'not-found', `There is nothing at ${path}`)
  const allow = fitting.map((each) => each.method).join(', ')
  throw new Problem(405, 'method-not-allowed', `${path} takes ${allow}`, { allow })
}
