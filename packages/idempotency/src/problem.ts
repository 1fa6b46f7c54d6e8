/** The kind of problem: the end of its `type`. */
export type ProblemType = keyof typeof problems

const problems = {
  'key-missing': [
    400,
    'Idempotency-Key is missing',
    'Send a key that is new for each operation and the same for its retries',
  ],
  'key-invalid': [400, 'Idempotency-Key is invalid', 'Send one key of visible ASCII without commas, quoted or not'],
  'key-reused': [422, 'Idempotency-Key is already used', 'It was sent with another request; send a new key'],
  'body-too-large': [413, 'Content too large', 'This request did nothing'],
  'body-broken': [400, 'The body broke off', 'This request did nothing'],
  'body-too-slow': [408, 'Request timeout', 'The body came too slowly; this request did nothing'],
  'in-progress': [409, 'A request is outstanding for this Idempotency-Key', 'Ask again for its outcome'],
  'in-doubt': [
    409,
    'The outcome is unknown',
    'A request with this key broke off; find out what it did before you send a new key',
  ],
  overtaken: [409, 'Another request with this Idempotency-Key took over', 'Ask again for its outcome'],
  'result-not-kept': [410, 'The answer was not kept', 'The operation is done, and is not done again'],
  'store-unavailable': [503, 'Unavailable', 'This request did nothing; ask again'],
  'shutting-down': [503, 'Unavailable', 'This server is shutting down; this request did nothing'],
  'budget-spent': [503, 'Unavailable', 'Its calls to the store are used up; this request did nothing'],
  misconfigured: [500, 'Internal error', 'The server is set up wrongly; this request did nothing'],
  'work-failed': [500, 'Internal error', 'The operation failed, and is not done again'],
} as const

/** A problem in the form of RFC 9457. @param base what its `type` begins with */
export function problem(base: string, type: ProblemType): Response {
  const [status, title, detail] = problems[type]
  return new Response(JSON.stringify({ type: base + type, title, status, detail }), {
    status,
    headers: { 'cache-control': 'no-store', 'content-type': 'application/problem+json' },
  })
}
