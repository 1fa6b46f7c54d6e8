/** An answer in the form of RFC 9457. */
export interface Problem<Status extends number = number> {
  readonly status: Status
  /** The end of its `type`, by which a program tells it apart from others with that status. */
  readonly type: string
  readonly title: string
  readonly detail: string
  /** The value of `Retry-After`, in seconds. */
  readonly retryAfter?: number
}

/** The body and the headers of a problem. @param base the beginning of its `type` */
export const problemParts = (
  base: string,
  { type, title, status, detail, retryAfter }: Problem,
): { readonly body: string; readonly headers: Readonly<Record<string, string>> } => ({
  body: JSON.stringify({ type: base + type, title, status, detail }),
  headers: {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  },
})
