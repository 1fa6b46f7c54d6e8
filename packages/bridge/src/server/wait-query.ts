import { ProblemError } from './problem.ts'

/** The longest key, in bytes of UTF-8: that of the store. */
const longestKey = 512
/** The most keys of a stream. */
export const mostKeys = 50
/** Workers' proxies give a silent request up, and a half-open client holds one no longer than this. */
const longestTimeoutMs = 25_000

const encoder = new TextEncoder()

/** The `key` parameters of an event stream, each once. @throws ProblemError */
export function keysOf(query: URLSearchParams): readonly string[] {
  const keys = [...new Set(query.getAll('key').map(checkedKey))]
  if (keys.length === 0) throw new ProblemError(400, 'Name a key: ?key=order:1')
  if (keys.length > mostKeys) {
    throw new ProblemError(400, `A stream takes ${mostKeys} keys at most; open another one for the others`)
  }
  return keys
}

/** What a long poll asks for. @throws ProblemError */
export function waitOf(query: URLSearchParams): WaitQuery {
  const [key, ...others] = query.getAll('key')
  if (key === undefined || others.length > 0) throw new ProblemError(400, 'Name one key: ?key=order:1')
  const mode = query.get('mode')
  if (mode !== null && mode !== 'result') throw new ProblemError(400, 'The mode can only be "result"')
  return {
    key: checkedKey(key),
    cursor: checkedCursor(query.get('since')),
    timeoutMs: checkedTimeout(query.get('timeout')),
    forResult: mode === 'result',
  }
}

export interface WaitQuery {
  readonly key: string
  readonly cursor: string
  readonly timeoutMs: number
  readonly forResult: boolean
}

function checkedKey(key: string): string {
  const { length } = encoder.encode(key)
  if (length > 0 && length <= longestKey) return key
  throw new ProblemError(400, `A key must have 1 to ${longestKey} bytes`)
}

/** Opaque, but of a form that fits into a header. */
function checkedCursor(cursor: string | null): string {
  if (cursor !== null && /^[\x21-\x7e]{1,128}$/.test(cursor)) return cursor
  throw new ProblemError(400, 'Send the cursor of the refused acquire, or of the last answer: ?since=-')
}

function checkedTimeout(text: string | null): number {
  if (text === null) return longestTimeoutMs
  const [, digits, unit] = /^(\d{1,9}(?:\.\d{1,9})?)(ms|s)?$/.exec(text) ?? []
  const ms = Math.ceil(Number(digits ?? Number.NaN) * (unit === 's' ? 1_000 : 1))
  if (ms >= 1 && ms <= longestTimeoutMs) return ms
  throw new ProblemError(400, `The timeout must be 1 ms to ${longestTimeoutMs} ms, such as 25s`)
}
