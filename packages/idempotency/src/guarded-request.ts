import type { IdempotencyEvent } from './events.ts'
import type { Settings } from './options.ts'
import { type ProblemType, problem } from './problem.ts'
import type { Result } from './result-format.ts'

/** Statuses without a body: with one, the `Response` constructor throws. */
const withoutBody = new Set([204, 205, 304])

/** A request with its settings, and the answers that can be given to it. */
export class GuardedRequest {
  readonly request: Request
  readonly settings: Settings
  /** Method and path, for events. The query is left out, since it may contain secrets. */
  readonly title: string

  constructor(request: Request, settings: Settings) {
    this.request = request
    this.settings = settings
    this.title = `${request.method} ${new URL(request.url).pathname}`
  }

  tell(event: IdempotencyEvent): void {
    unheeded(() => this.settings.onEvent?.(event))
  }

  /** @param retryAfter the header `Retry-After`, in seconds */
  problem(type: ProblemType, retryAfter?: number): Response {
    const response = problem(this.settings.problems, type)
    return retryAfter === undefined ? response : this.marked(response, 'Retry-After', String(retryAfter))
  }

  misconfigured(cause: unknown): Response {
    this.tell({ type: 'misconfigured', request: this.title, cause })
    return this.problem('misconfigured')
  }

  replay({ status, statusText, headers, body }: Result): Response {
    const response = new Response(withoutBody.has(status) ? null : (body as Uint8Array<ArrayBuffer>), {
      status,
      // A Worker sends an empty one as it is. Without one, it sends the status's own: "Created".
      ...(statusText && { statusText }),
      headers: headers as [string, string][],
      ...(isGzipped(headers, body) && { encodeBody: 'manual' }),
    })
    return this.marked(response, 'Idempotency-Replayed', 'true')
  }

  /** Sets a header, and exposes it to scripts if the request has an `Origin`. */
  marked(response: Response, name: string, value: string): Response {
    response.headers.set(name, value)
    if (this.request.headers.has('origin')) response.headers.append('Access-Control-Expose-Headers', name)
    return response
  }
}

/**
 * Whether a handler has compressed the body itself, judged by the first bytes of every gzip file (RFC 1952). A Worker
 * would compress it again, as `Content-Encoding` says, and a response does not say whether it was made with
 * `encodeBody: 'manual'`.
 */
const isGzipped = (headers: Result['headers'], [first, second]: Uint8Array): boolean =>
  first === 0x1f && second === 0x8b && headers.some((each) => each.join() === 'content-encoding,gzip')

/**
 * The same response with another body, and mutable headers. It is made from the response, not from its parts, because
 * only this preserves a Worker's `encodeBody`.
 */
export const withBody = (
  response: Response,
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
): Response => new Response(body, response)

/** Calls a user's function and ignores its errors, thrown or rejected. */
export function unheeded(call: () => unknown): void {
  const calling = async (): Promise<unknown> => call()
  void calling().catch(() => undefined)
}
