import type { Socket } from 'node:net'

/** Which way bytes travel: requests to the server, replies to the client. */
export type Direction = 'toServer' | 'toClient'

/** The questions that a link asks its proxy. Whenever an answer changes, the proxy calls `pump`. */
export interface LinkRules {
  delayMs(direction: Direction): number
  /** Whether bytes may pass now. Bytes that may not are kept, in order. */
  passes(direction: Direction): boolean
  arrived(direction: Direction): void
  /** Decides about bytes whose time has come. */
  deliver(direction: Direction, chunk: Buffer): void
  closed(): void
}

/** The end of a stream travels in line with its bytes. */
const end = null

interface Parcel {
  readonly chunk: Buffer | typeof end
  readonly dueMs: number
}

/** One connection through the proxy: a client's socket, the server's socket, and the bytes in flight between them. */
export class Link {
  readonly #rules: LinkRules
  readonly #target: Readonly<Record<Direction, Socket>>
  readonly #queue: Readonly<Record<Direction, Parcel[]>> = { toServer: [], toClient: [] }
  readonly #timer: Partial<Record<Direction, NodeJS.Timeout>> = {}
  #silent = false
  #open = 2

  constructor(client: Socket, server: Socket, rules: LinkRules) {
    this.#rules = rules
    this.#target = { toServer: server, toClient: client }
    this.#carry(client, 'toServer')
    this.#carry(server, 'toClient')
  }

  #carry(source: Socket, direction: Direction): void {
    source.setNoDelay(true)
    source.on('data', (chunk) => this.#enqueue(direction, chunk))
    source.on('end', () => this.#enqueue(direction, end))
    // A reset overtakes the bytes in flight, as it does in a network.
    source.on('error', () => this.cut())
    source.on('close', () => {
      if (--this.#open === 0) this.#rules.closed()
    })
  }

  #enqueue(direction: Direction, chunk: Buffer | typeof end): void {
    this.#queue[direction].push({ chunk, dueMs: performance.now() + this.#rules.delayMs(direction) })
    if (chunk !== end) this.#rules.arrived(direction)
    this.pump(direction)
  }

  /** Forwards the bytes that may pass by now. */
  pump(direction: Direction): void {
    clearTimeout(this.#timer[direction])
    const queue = this.#queue[direction]
    for (let parcel = queue[0]; parcel; parcel = queue[0]) {
      if (this.#silent || !this.#rules.passes(direction)) return
      const waitMs = parcel.dueMs - performance.now()
      if (waitMs > 0) {
        this.#timer[direction] = setTimeout(() => this.pump(direction), Math.ceil(waitMs))
        return
      }
      queue.shift()
      if (parcel.chunk === end) this.#target[direction].end()
      else this.#rules.deliver(direction, parcel.chunk)
    }
  }

  /** Hands bytes to the system; `sent` is called once it has taken them. */
  write(direction: Direction, chunk: Buffer, sent?: () => void): void {
    this.#target[direction].write(chunk, () => sent?.())
  }

  /** Lets nothing pass from now on, either way, without telling either side. */
  silence(): void {
    this.#silent = true
  }

  /** Ends the connection on both sides, now. Bytes in flight are lost. */
  cut(): void {
    this.#silent = true
    clearTimeout(this.#timer.toServer)
    clearTimeout(this.#timer.toClient)
    this.#target.toClient.destroy()
    this.#target.toServer.destroy()
  }
}
