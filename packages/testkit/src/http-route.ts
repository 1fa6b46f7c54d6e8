import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exchange, ProxiedRequest } from './http-proxy-exchange.ts'
import type { Direction } from './tcp-link.ts'

/** The network between client and server: it may be slow or interrupted, and reports what has passed. */
export class HttpRoute {
  /** Requests that have arrived so far, by path. */
  readonly requests: Record<string, number> = {}
  /** Requests forwarded to the server so far, by path. */
  readonly forwarded: Record<string, number> = {}
  readonly #delayMs: Record<Direction, number> = { toServer: 0, toClient: 0 }
  readonly #awaitedRequests: ((request: ProxiedRequest) => void)[] = []
  readonly #awaitedReplies: ((answered: Exchange) => void)[] = []
  #arrived = 0
  #interruption: Promise<void> | undefined
  #restore: () => void = () => undefined

  nextRequest(): Promise<ProxiedRequest> {
    return new Promise((resolve) => this.#awaitedRequests.push(resolve))
  }

  /** Resolves when the server begins its next reply, with the exchange that the reply belongs to. */
  nextReply(): Promise<Exchange> {
    return new Promise((resolve) => this.#awaitedReplies.push(resolve))
  }

  delay(ms: number, direction?: Direction): void {
    for (const way of direction ? [direction] : (['toServer', 'toClient'] as const)) this.#delayMs[way] = ms
  }

  /** Lets nothing pass, either way, until `restore`. */
  interrupt(): void {
    this.#interruption ??= new Promise((resolve) => {
      this.#restore = resolve
    })
  }

  restore(): void {
    this.#interruption = undefined
    this.#restore()
  }

  arrive(exchange: Exchange): void {
    exchange.place = ++this.#arrived
    count(this.requests, exchange.request.path)
    for (const resolve of this.#awaitedRequests.splice(0)) resolve(exchange.request)
  }

  async travel(direction: Direction): Promise<void> {
    if (this.#delayMs[direction] > 0) await sleep(this.#delayMs[direction])
    await this.#interruption
  }

  /** Sends the request to the server, and resolves when the reply begins. */
  async send(exchange: Exchange): Promise<IncomingMessage> {
    count(this.forwarded, exchange.request.path)
    const reply = await exchange.send()
    for (const resolve of this.#awaitedReplies.splice(0)) resolve(exchange)
    return reply
  }

  async deliver(exchange: Exchange, reply: IncomingMessage): Promise<void> {
    await this.travel('toClient')
    await exchange.deliver(reply)
  }
}

function count(counts: Record<string, number>, path: string): void {
  counts[path] = (counts[path] ?? 0) + 1
}
