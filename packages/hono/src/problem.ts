import type { Context, Env } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'

/** An answer in the form of RFC 9457. */
export interface Problem {
  readonly status: ContentfulStatusCode
  /** The end of its `type`, by which a program tells it from others with that status. */
  readonly type: string
  readonly title: string
  readonly detail: string
  /** Seconds. */
  readonly retryAfter?: number
}

/**
 * Made by the context, so that it has the headers that outer middleware has set. The problems of the idempotency package know no
 * context, and `locked` alone ships nothing of that package.
 */
export const problem = <E extends Env>(
  c: Context<E>,
  problems: string,
  { type, title, status, detail, retryAfter }: Problem,
): Response =>
  c.body(JSON.stringify({ type: problems + type, title, status, detail }), status, {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  })
