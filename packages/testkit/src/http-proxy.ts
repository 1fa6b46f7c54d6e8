import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CannedReply, Exchange, type ProxiedRequest } from './http-proxy-exchange.ts'
import { HttpRoute } from './http-route.ts'
import {
  answerWith,
  cutUnlessFirst,
  dropReply,
  forward,
  inTurn,
  overtakenBy,
  sendTwice,
  type Treatment,
} from './http-treatments.ts'
import type { Ending } from './reply-drop.ts'
import type { Direction } from './tcp-link.ts'

export interface HttpProxyOptions {
  /** The server's URL, such as `http://127.0.0.1:8080`. Requests keep their own path. */
  readonly target: string
}

/** What may happen to a request. */
export type Course = 'forward' | 'duplicate' | 'drop'

const courses: Readonly<Record<Course, Treatment>> = {
  forward,
  duplicate: sendTwice('first'),
  drop: dropReply('cut'),
}

/** Starts a proxy on a free port of 127.0.0.1 that forwards everything until told otherwise. */
export async function startHttpProxy(options: HttpProxyOptions): Promise<HttpProxy> {
  const target = new URL(options.target)
  const server = createServer()
  // Longer than any test: a connection ends only when the test says so.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return new HttpProxy(server, target)
}

/** Stands between an HTTP client and its server, and does what a test tells it to. Made by `startHttpProxy`. */
export class HttpProxy implements AsyncDisposable {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly url: string
  /** Requests that have arrived so far, by path. */
  readonly requests: Readonly<Record<string, number>>
  /** Requests forwarded to the server so far, by path; a duplicated one counts twice. */
  readonly forwarded: Readonly<Record<string, number>>

  readonly #server: Server
  readonly #target: URL
  readonly #route = new HttpRoute()
  /** The treatments of the next requests, one each. */
  readonly #next: Treatment[] = []
  /** The treatment of every request for which `#next` has none. */
  #always: Treatment = forward

  constructor(server: Server, target: URL) {
    this.port = (server.address() as AddressInfo).port
    this.url = `http://${this.host}:${this.port}`
    this.requests = this.#route.requests
    this.forwarded = this.#route.forwarded
    this.#target = target
    this.#server = server.on('request', (incoming, client) => void this.#serve(incoming, client))
  }

  /** Resolves with the next request when it has arrived here, whatever happens to it then. */
  nextRequest(): Promise<ProxiedRequest> {
    return this.#route.nextRequest()
  }

  /** Resolves when the server begins its next reply, so has carried the request out, even if the reply may not pass. */
  async nextReply(): Promise<void> {
    await this.#route.nextReply()
  }

  /** Delays each request, or reply, or both, that arrives from now on by `ms`. 0 ends that. */
  delay(ms: number, direction?: Direction): void {
    this.#route.delay(ms, direction)
  }

  /** Ends all client connections now. New ones are accepted; requests that have arrived are still forwarded. */
  cut(): void {
    this.#server.closeAllConnections()
  }

  /** Accepts requests and forwards nothing, either way. */
  blackHole(): void {
    this.#route.interrupt()
  }

  /**
   * Ends `blackHole`, `answer`, `duplicate`, `inTurn` and `cutKeptAlive`. What was sent into the black hole arrives
   * now, though its client may have gone.
   */
  restore(): void {
    this.#always = forward
    this.#route.restore()
  }

  /** Answers every request itself from now on, for example with 503 or an HTML page. The server hears of none. */
  answer(reply: CannedReply): void {
    this.#always = answerWith(reply)
  }

  /** Sends every request from now on to the server twice in a row, and delivers the first or the last reply. */
  duplicate(delivered: 'first' | 'last' = 'first'): void {
    this.#always = sendTwice(delivered)
  }

  /**
   * Treats the requests from now on in turn, over and over: `forward` is the ordinary way, `duplicate` sends a request
   * to the server twice and delivers the first reply, and `drop` lets the server carry it out and ends its connection
   * without a reply.
   */
  inTurn(first: Course, ...more: readonly Course[]): void {
    this.#always = inTurn([courses[first], ...more.map((each) => courses[each])])
  }

  /**
   * Answers only the first request of a connection from now on. Each later request is carried out, and its connection
   * ends before the reply, as a kept-alive connection may: some runtimes then resend the request over another
   * connection, and the caller does not hear of it.
   */
  cutKeptAlive(): void {
    this.#always = cutUnlessFirst
  }

  /** Answers the next request itself. Several calls affect as many requests; so do those of the methods below. */
  answerNext(reply: CannedReply): void {
    this.#next.push(answerWith(reply))
  }

  /**
   * Lets the server carry out the next request and delivers nothing of its reply: the connection ends (`cut`), or stays
   * open and silent (`silence`). Resolves when that has happened.
   */
  dropNextReply(ending: Ending = 'cut'): Promise<void> {
    return this.#treatNext(dropReply(ending))
  }

  /** Sends the next request to the server twice in a row, and delivers the first or the last reply. */
  duplicateNext(delivered: 'first' | 'last' = 'first'): Promise<void> {
    return this.#treatNext(sendTwice(delivered))
  }

  /**
   * Holds the next request back until the server has answered `others` that arrived after it, and then sends it, though
   * its client may have gone. Resolves when it has been carried out, too.
   */
  reorderNext(others = 1): Promise<void> {
    return new Promise((carriedOut) => this.#next.push(overtakenBy(others, carriedOut)))
  }

  /** Ends all connections and stops listening. Promises that are still awaited never settle. */
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
      const treatment = this.#next.shift() ?? this.#always
      this.#route.arrive(exchange)
      await this.#route.travel('toServer')
      await treatment(exchange, this.#route)
    } catch {
      // The client left, or the server is unreachable or ended midway: the other side sees the connection end.
      exchange?.cut()
    }
  }

  /** Resolves when the treatment of the next request is over. */
  #treatNext(treatment: Treatment): Promise<void> {
    return new Promise((resolve) => this.#next.push((exchange, route) => treatment(exchange, route).finally(resolve)))
  }
}
