import type { ProblemType } from './problem.ts'

const keyHeader = 'Idempotency-Key'

/** The key of a request, or what is wrong with it. */
export type KeyFound = { readonly key: string } | { readonly problem: ProblemType }

/**
 * Reads the key as the draft defines it, a structured field string (RFC 9651), and as most clients send it, without
 * quotes. Both name the same key: the key is the content of the string, and an unquoted value is that content as is.
 *
 * A key is visible ASCII without commas. `Headers` joins repeated headers with a comma, so a comma may mean that there
 * were two.
 */
export function keyOf(request: Request, longest: number): KeyFound {
  const value = request.headers.get(keyHeader)
  if (value === null) return { problem: 'key-missing' }
  // An escaped character takes two. A value longer than that is not parsed at all.
  const key = value.length <= 2 * longest + 2 ? contentOf(value) : undefined
  return key && key.length <= longest ? { key } : { problem: 'key-invalid' }
}

function contentOf(value: string): string | undefined {
  if (/^[!#-+\--~]+$/.test(value)) return value
  const [, quoted] = /^"((?:[!#-+\--[\]-~]|\\["\\])+)"$/.exec(value) ?? []
  return quoted?.replace(/\\(.)/g, '$1')
}
