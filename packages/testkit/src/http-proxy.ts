import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CannedReply, Exchange, type ProxiedRequest } from './http-proxy-exchange.ts'
import type { Direction } from './tcp-link.ts'
import type { Ending } from './tcp-proxy.ts'

export interface HttpProxyOptions {
  /** The server's URL, such as `http://127.0.0.1:8080`. Requests keep their own path. */
  readonly target: string
}

/** Decides what becomes of one request, from when it would leave here for the server. */
type Treatment = (exchange: Exchange) => Promise<void>

/** Starts a proxy on a free port of 127.0.0.1 that passes everything on until it is told otherwise. */
export async function startHttpProxy(options: HttpProxyOptions): Promise<HttpProxy> {
  const target = new URL(options.target)
  const server = createServer()
  // Longer than a test: a connection ends when the test says so.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return new HttpProxy(server, target)
}

/** What stands between an HTTP client and its server, and does what a test tells it to. Made by `startHttpProxy`. */
export class HttpProxy implements AsyncDisposable {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly url: string
  /** Requests that have arrived so far, by path. */
  readonly requests: Record<string, number> = {}
  /** Requests passed on to the server so far, by path; a duplicated one counts twice. */
  readonly forwarded: Record<string, number> = {}

  readonly #server: Server
  readonly #target: URL
  readonly #delayMs: Record<Direction, number> = { toServer: 0, toClient: 0 }
  readonly #next: Treatment[] = []
  #always: Treatment = (exchange) => this.#pass(exchange)
  readonly #awaitedRequests: ((request: ProxiedRequest) => void)[] = []
  readonly #awaitedReplies: ((answered: Exchange) => void)[] = []
  #arrived = 0
  #closed: Promise<void> | undefined
  #open: () => void = () => undefined

  constructor(server: Server, target: URL) {
    this.port = (server.address() as AddressInfo).port
    this.url = `http://${this.host}:${this.port}`
    this.#target = target
    this.#server = server.on('request', (incoming, client) => void this.#serve(incoming, client))
  }

  /** Resolves with the next request when it has arrived here, whatever becomes of it. */
  nextRequest(): Promise<ProxiedRequest> {
    return new Promise((resolve) => this.#awaitedRequests.push(resolve))
  }

  /** Resolves when the server has begun its next reply, so has carried the request out, whether or not it may go on. */
  nextReply(): Promise<void> {
    return new Promise((resolve) => this.#awaitedReplies.push(() => resolve()))
  }

  /** Lets each request, or reply, or both, that arrives from now on take `ms` longer. 0 ends that. */
  delay(ms: number, direction?: Direction): void {
    for (const way of direction ? [direction] : (['toServer', 'toClient'] as const)) this.#delayMs[way] = ms
  }

  /** Ends all connections of clients now. New ones are accepted; what has arrived is still passed on to the server. */
  cut(): void {
    this.#server.closeAllConnections()
  }

  /** Accepts requests and passes nothing on, either way. */
  blackHole(): void {
    this.#closed ??= new Promise((resolve) => {
      this.#open = resolve
    })
  }

  /** Ends `blackHole`, `answer`, `duplicate` and `cutKeptAlive`. What was sent into the black hole arrives now, though its client may have gone. */
  restore(): void {
    this.#always = (exchange) => this.#pass(exchange)
    this.#closed = undefined
    this.#open()
  }

  /** Answers every request by itself from now on, such as with 503 or a page of HTML. The server hears of none. */
  answer(reply: CannedReply): void {
    this.#always = async (exchange) => exchange.answer(reply)
  }

  /** Sends every request from now on to the server twice, one after the other, and delivers the first or the last reply. */
  duplicate(delivered: 'first' | 'last' = 'first'): void {
    this.#always = (exchange) => this.#sendTwice(exchange, delivered)
  }

  /**
   * Answers only the first request of a connection from now on. Each later one is carried out, and its connection ends before
   * the reply, as a kept-alive one may: some runtimes then send it again over another, and the caller does not hear of it.
   */
  cutKeptAlive(): void {
    this.#always = async (exchange) => {
      const reply = await this.#send(exchange)
      if (!exchange.isFirst) {
        reply.resume()
        exchange.cut()
      } else await this.#deliver(exchange, reply)
    }
  }

  /** Answers the next request by itself; several calls are for as many requests. So are those below. */
  answerNext(reply: CannedReply): void {
    this.#next.push(async (exchange) => exchange.answer(reply))
  }

  /**
   * Lets the server carry the next request out and delivers nothing of its reply: the connection ends (`cut`), or stays
   * open and silent (`silence`). Resolves when that has happened.
   */
  dropNextReply(ending: Ending = 'cut'): Promise<void> {
    return this.#treatNext(async (exchange) => {
      const reply = await this.#send(exchange)
      reply.resume()
      if (ending === 'cut') exchange.cut()
    })
  }

  /** Sends the next request to the server twice, one after the other, and delivers the first or the last reply. */
  duplicateNext(delivered: 'first' | 'last' = 'first'): Promise<void> {
    return this.#treatNext((exchange) => this.#sendTwice(exchange, delivered))
  }

  /**
   * Keeps the next request back until the server has answered `others` that arrived after it, and sends it then, though
   * its client may have gone. Resolves when it has been carried out, too.
   */
  reorderNext(others = 1): Promise<void> {
    return new Promise((resolve) => {
      this.#next.push(async (held) => {
        for (let overtaken = 0; overtaken < others; ) if (await this.#answersLater(held)) overtaken++
        const reply = await this.#send(held)
        resolve()
        await this.#deliver(held, reply)
      })
    })
  }

  /** Ends all connections, and listens no more. What is still awaited is never settled. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.cut()
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #serve(incoming: IncomingMessage, client: ServerResponse): Promise<void> {
    let exchange: Exchange | undefined
    try {
      exchange = await Exchange.read(this.#target, incoming, client)
      exchange.place = ++this.#arrived
      const treatment = this.#next.shift() ?? this.#always
      count(this.requests, exchange.request.path)
      for (const resolve of this.#awaitedRequests.splice(0)) resolve(exchange.request)
      await this.#travel('toServer')
      await treatment(exchange)
    } catch {
      // The client left, or the server cannot be reached or ended in the middle: the other side sees the connection end.
      exchange?.cut()
    }
  }

  async #pass(exchange: Exchange): Promise<void> {
    await this.#deliver(exchange, await this.#send(exchange))
  }

  async #sendTwice(exchange: Exchange, delivered: 'first' | 'last'): Promise<void> {
    const replies = { first: await this.#send(exchange), last: await this.#send(exchange) }
    replies[delivered === 'first' ? 'last' : 'first'].resume()
    await this.#deliver(exchange, replies[delivered])
  }

  async #send(exchange: Exchange): Promise<IncomingMessage> {
    count(this.forwarded, exchange.request.path)
    const reply = await exchange.send()
    for (const resolve of this.#awaitedReplies.splice(0)) resolve(exchange)
    return reply
  }

  async #deliver(exchange: Exchange, reply: IncomingMessage): Promise<void> {
    await this.#travel('toClient')
    await exchange.deliver(reply)
  }

  async #travel(direction: Direction): Promise<void> {
    if (this.#delayMs[direction] > 0) await sleep(this.#delayMs[direction])
    await this.#closed
  }

  /** Resolves when the treatment of the next request is over. */
  #treatNext(treatment: Treatment): Promise<void> {
    return new Promise((resolve) => this.#next.push((exchange) => treatment(exchange).finally(resolve)))
  }

  /** Waits for the server's next reply; whether that is to a request that arrived after `held`. */
  async #answersLater(held: Exchange): Promise<boolean> {
    const answered = await new Promise<Exchange>((resolve) => this.#awaitedReplies.push(resolve))
    return answered.place > held.place
  }
}

function count(counts: Record<string, number>, path: string): void {
  counts[path] = (counts[path] ?? 0) + 1
}
