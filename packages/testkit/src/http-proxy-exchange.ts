import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'

/** A complete request as it arrived at the proxy. */
export interface ProxiedRequest {
  readonly method: string
  /** The path, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** An answer that the proxy gives in place of the server. */
export interface CannedReply {
  readonly status: number
  /** Default: empty. */
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Headers that concern one connection, not the request or reply, and are not forwarded. */
const ownToConnection = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding']

/** Connections that have brought a request. */
const used = new WeakSet<object>()

/** A request passing through the proxy, and the client that waits for its reply. */
export class Exchange {
  readonly request: ProxiedRequest
  /** Its place in the order of arrival. */
  place = 0
  /** Whether it is the first request of its connection. */
  readonly isFirst: boolean
  readonly #target: URL
  readonly #url: string
  readonly #body: Buffer
  readonly #client: ServerResponse

  private constructor(target: URL, incoming: IncomingMessage, body: Buffer, client: ServerResponse) {
    this.#target = target
    this.#url = incoming.url ?? '/'
    this.#body = body
    this.#client = client
    this.isFirst = !used.has(incoming.socket)
    used.add(incoming.socket)
    const { pathname: path, searchParams: query } = new URL(this.#url, target)
    const { method = 'GET', headers } = incoming
    this.request = { method, path, query, headers, body: body.toString() }
  }

  /** Reads the whole request, so that it can be sent later or twice, whatever the client does meanwhile. */
  static async read(target: URL, incoming: IncomingMessage, client: ServerResponse): Promise<Exchange> {
    // The answer to a client that goes away is cut off; nobody else needs to know.
    client.on('error', () => client.destroy())
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    return new Exchange(target, incoming, Buffer.concat(chunks), client)
  }

  /** Sends the request to the server over a connection of its own, and resolves when the reply begins. */
  send(): Promise<IncomingMessage> {
    const headers = { ...passable(this.request.headers), host: this.#target.host }
    const { method } = this.request
    return new Promise((resolve, reject) => {
      const sent = request(new URL(this.#url, this.#target), { method, headers, agent: false }, resolve)
      sent.on('error', reject)
      sent.end(this.#body)
    })
  }

  /** Forwards the server's reply as it comes, so that an event stream stays a stream. */
  async deliver(reply: IncomingMessage): Promise<void> {
    this.#client.writeHead(reply.statusCode ?? 502, passable(reply.headers)).flushHeaders()
    await pipeline(reply, this.#client)
  }

  answer({ status, body = '', headers = {} }: CannedReply): void {
    this.#client.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
  }

  /** Ends the client's connection, now. */
  cut(): void {
    this.#client.socket?.destroy()
  }
}

const passable = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ownToConnection.includes(name)))
