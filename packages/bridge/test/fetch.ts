import type { BridgeFetch, BridgeRequest } from '../../bridge-client/src/index.ts'

/** A fetch whose responses a test provides, one request at a time. */
export class ScriptedFetch {
  readonly requests: ScriptedRequest[] = []
  readonly fetch: BridgeFetch = (url, request) =>
    new Promise((resolve, reject) => {
      this.requests.push(new ScriptedRequest(url, request, resolve, reject))
    })

  /** The requests whose client still waits for something. */
  get open(): ScriptedRequest[] {
    return this.requests.filter(({ isOpen }) => isOpen)
  }

  /** The last request. */
  get last(): ScriptedRequest {
    return this.requests.at(-1) as ScriptedRequest
  }
}

/** A received request, and the means to answer it. */
export class ScriptedRequest {
  readonly url: URL
  readonly request: BridgeRequest
  isOpen = true
  readonly #resolve: (answer: Response) => void
  readonly #reject: (error: Error) => void
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor(
    url: string,
    request: BridgeRequest,
    resolve: (answer: Response) => void,
    reject: (error: Error) => void,
  ) {
    this.url = new URL(url)
    this.request = request
    this.#resolve = resolve
    this.#reject = reject
    request.signal.addEventListener('abort', () => this.fail())
  }

  get keys(): string[] {
    return this.url.searchParams.getAll('key')
  }

  /** Begins an event stream. */
  opens(headers: Record<string, string> = {}): this {
    return this.begins(200, headers)
  }

  /** Answers with a body that stays open. */
  begins(status: number, headers: Record<string, string> = {}, onCancel?: () => void): this {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#stream = controller
      },
      ...(onCancel && { cancel: onCancel }),
    })
    this.#resolve(new Response(body, { status, headers }))
    return this
  }

  sends(text: string): this {
    this.#stream?.enqueue(new TextEncoder().encode(text))
    return this
  }

  /** Begins an event stream that reports these keys as held, and its other keys as free. */
  opensWith(...held: string[]): this {
    this.opens()
    for (const key of this.keys) this.state(key, held.includes(key))
    return this
  }

  state(key: string, held: boolean): this {
    return this.sends(`event: state\ndata: ${JSON.stringify({ key, held, cursor: '1', expiresInMs: null })}\n\n`)
  }

  releases(key: string): this {
    return this.sends(`event: release\ndata: ${JSON.stringify({ key })}\n\n`)
  }

  ends(): void {
    this.isOpen = false
    this.#stream?.close()
  }

  answers(status: number, headers: Record<string, string> = {}, body?: unknown): void {
    this.isOpen = false
    this.#resolve(new Response(body === undefined ? null : JSON.stringify(body), { status, headers }))
  }

  fail(): void {
    if (!this.isOpen) return
    this.isOpen = false
    const error = new Error('Network connection lost.')
    this.#reject(error)
    this.#stream?.error(error)
  }
}
