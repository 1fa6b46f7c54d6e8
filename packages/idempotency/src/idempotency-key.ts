import type { ProblemType } from './problem.ts'

const keyHeader = 'Idempotency-Key'

/** The key of a request, or what is wrong with it. */
export type KeyFound = { readonly key: string } | { readonly problem: ProblemType }

/**
 * Reads the key as the draft has it, a string of structured fields (RFC 9651), and as most clients send it, without quotes. Both
 * name the same key: the key is the content of the string, and a value without quotes is that content as it stands.
 *
 * A key is visible ASCII without commas. `Headers` joins repeated lines by a comma, so a comma may mean that there were two.
 */
export function keyOf(request: Request, longest: number): KeyFound {
  const value = request.headers.get(keyHeader)
  if (value === null) return { problem: 'key-missing' }
  // An escaped character takes two. Whoever sends more than that is not read any further.
  const key = value.length <= 2 * longest + 2 ? contentOf(value) : undefined
  return key && key.length <= longest ? { key } : { problem: 'key-invalid' }
}

function contentOf(value: string): string | undefined {
  if (/^[!#-+\--~]+$/.test(value)) return value
  const [, quoted] = /^"((?:[!#-+\--[\]-~]|\\["\\])+)"$/.exec(value) ?? []
  return quoted?.replace(/\\(.)/g, '$1')
}
