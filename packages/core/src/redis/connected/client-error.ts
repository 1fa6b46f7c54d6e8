import { withoutQuotation } from './error-text.ts'

/** What clients put behind a failure: the cause, a cluster's last node, or the addresses of a name that were tried. */
interface Failure {
  readonly code?: unknown
  readonly cause?: unknown
  readonly lastNodeError?: unknown
  readonly errors?: readonly unknown[]
}

/** A chain of causes is cut at this depth, in case it is a ring. */
const deepest = 4

/**
 * A copy of a client's error and its causes that keeps names, messages and codes, and nothing else. The client puts the command
 * on an error; for a refused password that is `AUTH` with the password. Arguments that a message quotes are cut off.
 */
export function plainError(error: unknown, depth = 1): Error {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const { code, cause, lastNodeError, errors = [] } = Object(error) as Failure
  const behind = cause ?? lastNodeError ?? errors[0]
  // The error of a name with several addresses has no message of its own.
  const plain = new Error(withoutQuotation(message || String(code ?? name)), {
    ...(behind !== undefined && depth < deepest && { cause: plainError(behind, depth + 1) }),
  })
  plain.name = name
  return typeof code === 'string' ? Object.assign(plain, { code }) : plain
}

/**
 * The server's own words, if it will never let this client in: the password is wrong or missing, or on a cluster the user may not
 * read the slots. Undefined for what may pass: a server that starts, fails over or cannot be reached.
 */
export function refusalIn(error: Error): string | undefined {
  // On a plain client NOPERM is about selecting its database, and the client connects all the same. On a cluster it stands
  // deeper, in the node's error behind the cluster's.
  if (error.message.startsWith('NOPERM')) return undefined
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if (/^(WRONGPASS|NOAUTH|NOPERM)\b/.test(each.message)) return each.message
  }
  return undefined
}
