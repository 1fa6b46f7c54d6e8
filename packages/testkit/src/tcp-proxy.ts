import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.ts'
import { type Ending, ReplyDrop } from './reply-drop.ts'
import { type Direction, Link } from './tcp-link.ts'

export interface TcpProxyOptions {
  /** The port that connections lead to. */
  readonly port: number
  /** Default `127.0.0.1`. */
  readonly host?: string
}

/** How many free ports are tried if somebody else takes each one first. */
const portTries = 5

/** Starts a proxy on a free port of 127.0.0.1 that forwards everything until told otherwise. */
export async function startTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  for (let tries = 1; ; tries++) {
    const proxy = new TcpProxy(await freePort(), { host: '127.0.0.1', ...options })
    try {
      await proxy.accept()
      return proxy
    } catch (error) {
      if (tries === portTries) throw error
    }
  }
}

/** A network that does what a test tells it to. Made by `startTcpProxy`. */
export class TcpProxy implements AsyncDisposable {
  readonly host = '127.0.0.1'
  readonly port: number
  /** Connections accepted so far. */
  accepted = 0
  /** Bytes forwarded so far. */
  readonly bytes: Record<Direction, number> = { toServer: 0, toClient: 0 }

  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #delayMs: Record<Direction, number> = { toServer: 0, toClient: 0 }
  readonly #awaited: Record<Direction, (() => void)[]> = { toServer: [], toClient: [] }
  readonly #drop = new ReplyDrop()
  #blackHole = false
  #holds = 0
  #bytesUntilCut = Number.POSITIVE_INFINITY

  constructor(port: number, target: Required<TcpProxyOptions>) {
    this.port = port
    // Half-open, so that the end of one direction does not lose bytes in flight in the other.
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#connect(client, target))
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#links.size
  }

  /** Resolves when the next request has been forwarded to the server. */
  nextRequest(): Promise<void> {
    return new Promise((resolve) => this.#awaited.toServer.push(resolve))
  }

  /** Resolves when the next reply of the server has arrived here, whether or not it may go on to the client. */
  nextReply(): Promise<void> {
    return new Promise((resolve) => this.#awaited.toClient.push(resolve))
  }

  /** Delays each byte that arrives from now on by `ms`, in one direction or in both. 0 ends that. */
  delay(ms: number, direction?: Direction): void {
    for (const way of direction ? [direction] : (['toServer', 'toClient'] as const)) this.#delayMs[way] = ms
  }

  /** Ends all connections now. New ones are accepted. */
  cut(): void {
    for (const link of this.#links) link.cut()
  }

  /** Forwards exactly `bytes` more bytes to the server, then ends the connection that sent the last of them. */
  cutAfter(bytes: number): void {
    this.#bytesUntilCut = bytes
  }

  /** Refuses new connections, as if nothing listened here; those that are open stay. */
  refuse(): void {
    this.#server.close()
  }

  /** Ends `refuse`. */
  accept(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.port, this.host, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
  }

  /** Accepts connections and forwards nothing, either way: no byte, and not the end of a connection. */
  blackHole(): void {
    this.#blackHole = true
  }

  /** Ends `blackHole`. What was sent meanwhile arrives now, as after a partition; `cut` first if it should not. */
  restore(): void {
    this.#blackHole = false
    this.#pump()
  }

  /**
   * Forwards the next request, waits for the server's reply and delivers none of it. Resolves when that has happened.
   * The connection should have no other request in flight, whose reply would be taken for this one's.
   */
  dropNextReply(ending: Ending = 'cut'): Promise<void> {
    return this.#drop.next(ending)
  }

  /** Holds the server's replies back, on all connections, until the returned function is called. */
  holdReplies(): () => void {
    this.#holds++
    let held = true
    return () => {
      if (held) this.#holds--
      held = false
      this.#pump()
    }
  }

  /** Ends all connections and stops listening. A `nextRequest` or `nextReply` still awaited never settles. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.cut()
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #connect(client: Socket, target: Required<TcpProxyOptions>): void {
    this.accepted++
    const server = connect({ ...target, allowHalfOpen: true })
    const link = new Link(client, server, {
      delayMs: (direction) => this.#delayMs[direction],
      passes: (direction) => !this.#blackHole && (direction === 'toServer' || this.#holds === 0),
      arrived: (direction) => direction === 'toClient' && this.#tell('toClient'),
      deliver: (direction, chunk) => (direction === 'toServer' ? this.#request(link, chunk) : this.#reply(link, chunk)),
      closed: () => {
        this.#links.delete(link)
        this.#drop.closed(link)
      },
    })
    this.#links.add(link)
  }

  #request(link: Link, chunk: Buffer): void {
    const cutHere = chunk.length >= this.#bytesUntilCut
    const passed = cutHere ? chunk.subarray(0, this.#bytesUntilCut) : chunk
    this.#bytesUntilCut = cutHere ? Number.POSITIVE_INFINITY : this.#bytesUntilCut - chunk.length
    this.#drop.requestPassed(link)
    this.bytes.toServer += passed.length
    link.write('toServer', passed, () => {
      if (cutHere) link.cut()
      this.#tell('toServer')
    })
    if (cutHere) link.silence()
  }

  #reply(link: Link, chunk: Buffer): void {
    if (this.#drop.take(link)) return
    this.bytes.toClient += chunk.length
    link.write('toClient', chunk)
  }

  #tell(direction: Direction): void {
    for (const resolve of this.#awaited[direction].splice(0)) resolve()
  }

  #pump(): void {
    for (const link of this.#links) {
      link.pump('toServer')
      link.pump('toClient')
    }
  }
}
