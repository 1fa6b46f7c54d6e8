/** What an answer of ours says beyond its status: the end of its `type`. */
export type ProblemType = keyof typeof problems

const problems = {
  'key-missing': [
    400,
    'Idempotency-Key is missing',
    'Send a value that is new for each operation, and the same for its retries.',
  ],
  'key-invalid': [
    400,
    'Idempotency-Key is invalid',
    'Send one line with one key of visible ASCII characters without commas, quoted or not.',
  ],
  'key-reused': [
    422,
    'Idempotency-Key is already used',
    'It was used for another request. A new operation needs a new key.',
  ],
  'body-too-large': [413, 'Content too large', 'The body is larger than this server reads.'],
  'body-too-slow': [408, 'Request timeout', 'The body did not arrive in time.'],
  'in-progress': [409, 'A request with this Idempotency-Key is in progress', 'Ask again for its outcome.'],
  'in-doubt': [
    409,
    'The outcome is not known',
    'An earlier request with this key broke off, and may have had its effect. Find out before you use a new key.',
  ],
  overtaken: [
    409,
    'Another request with this Idempotency-Key took over',
    'This one took too long. Ask again for the outcome of the other.',
  ],
  'result-not-kept': [
    410,
    'Done, and the answer was not kept',
    'The operation was carried out. Its answer was too large to keep.',
  ],
  'store-unavailable': [503, 'Unavailable', 'The operation was not begun. Ask again.'],
  misconfigured: [500, 'Internal error', 'The operation was not begun. The server is set up wrongly.'],
  'work-failed': [500, 'Internal error', 'The operation failed, and is not repeated under this key.'],
} as const

/** An answer of ours, in the form of RFC 9457. @param base what its `type` begins with */
export function problem(base: string, type: ProblemType, headers?: Readonly<Record<string, string>>): Response {
  const [status, title, detail] = problems[type]
  return new Response(JSON.stringify({ type: base + type, title, status, detail }), {
    status,
    headers: { 'cache-control': 'no-store', 'content-type': 'application/problem+json', ...headers },
  })
}
