import { checkKey, parseDuration } from '@leasehold/core/adapter'
import { ProblemError } from './problem.ts'

/** The most keys of a stream. */
export const mostKeys = 50
/** The most inboxes of a stream. */
const mostInboxes = 10
/**
 * In milliseconds. Proxies cut off a request that is silent for longer, and a half-open client keeps its place no
 * longer than this.
 */
const longestTimeoutMs = 25_000

/** The `key` parameters of an event stream, without duplicates. @throws ProblemError */
export function keysOf(query: URLSearchParams): readonly string[] {
  const keys = [...new Set(query.getAll('key').map(checkedKey))]
  if (keys.length === 0) throw new ProblemError(400, 'Name a key: ?key=order:1')
  if (keys.length > mostKeys) {
    throw new ProblemError(400, `A stream takes ${mostKeys} keys at most; open another one for the others`)
  }
  return keys
}

/** The inboxes whose turns a stream reports too, without duplicates. @throws ProblemError */
export function inboxesOf(query: URLSearchParams): readonly string[] {
  const inboxes = [...new Set(query.getAll('inbox'))]
  if (inboxes.every((inbox) => /^[0-9a-f]{32}$/.test(inbox)) && inboxes.length <= mostInboxes) return inboxes
  throw new ProblemError(400, `An inbox is named by 32 hexadecimal digits, and a stream takes ${mostInboxes} at most`)
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
    waiter: waiterOf(query.get('waiter')),
  }
}

export interface WaitQuery {
  readonly key: string
  readonly cursor: string
  readonly timeoutMs: number
  readonly forResult: boolean
  /** The waiter's name, if it waits in the queue of the lock. */
  readonly waiter: WaiterName | undefined
}

/** The waiter's name in the store, `<inbox>.<number>`, and its parts. */
export interface WaiterName {
  readonly name: string
  readonly inbox: string
  readonly number: number
}

function waiterOf(name: string | null): WaiterName | undefined {
  if (name === null) return undefined
  const [, inbox, number] = /^([0-9a-f]{32})\.(0|[1-9]\d{0,14})$/.exec(name) ?? []
  if (inbox === undefined) throw new ProblemError(400, 'A waiter is named by 32 hexadecimal digits, a dot and a number')
  return { name, inbox, number: Number(number) }
}

function checkedKey(key: string): string {
  try {
    checkKey(key)
    return key
  } catch {
    throw new ProblemError(400, 'A key must be text of 1 to 512 bytes')
  }
}

/** A cursor is opaque, but must fit into a header. */
function checkedCursor(cursor: string | null): string {
  if (cursor !== null && /^[\x21-\x7e]{1,128}$/.test(cursor)) return cursor
  throw new ProblemError(400, 'Send the cursor of the contended acquire, or of the last answer: ?since=-')
}

function checkedTimeout(text: string | null): number {
  const ms = text === null ? longestTimeoutMs : millisecondsOf(text)
  if (ms <= longestTimeoutMs) return ms
  throw new ProblemError(400, `The timeout must be 1 ms to ${longestTimeoutMs} ms, such as 25s`)
}

/** Parses a number of milliseconds, or a duration with its unit; `NaN` for anything else. */
function millisecondsOf(text: string): number {
  try {
    return parseDuration('timeout', /^[\d.]+$/.test(text) ? Number(text) : text)
  } catch {
    return Number.NaN
  }
}
