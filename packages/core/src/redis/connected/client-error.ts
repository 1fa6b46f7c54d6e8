import { withoutQuotation } from './error-text.ts'

/** What clients attach to a failure: its cause, the error of a cluster's last node, or one for each address tried. */
interface Failure {
  readonly code?: unknown
  readonly cause?: unknown
  readonly lastNodeError?: unknown
  readonly errors?: readonly unknown[]
}

/** A chain of causes is cut off at this depth, in case it is circular. */
const deepest = 4

/**
 * Copies a client's error and its causes, and keeps only names, messages and codes. Clients attach the command to an
 * error, and for a refused password that is `AUTH` with the password. Arguments that a message quotes are cut off.
 */
export function plainError(error: unknown, depth = 1): Error {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const { code, cause, lastNodeError, errors = [] } = Object(error) as Failure
  const behind = cause ?? lastNodeError ?? errors[0]
  // The error for a host name with several addresses has no message of its own.
  const plain = new Error(withoutQuotation(message || String(code ?? name)), {
    ...(behind !== undefined && depth < deepest && { cause: plainError(behind, depth + 1) }),
  })
  plain.name = name
  return typeof code === 'string' ? Object.assign(plain, { code }) : plain
}

/**
 * Returns the server's own words if it will never let this client in: the password is wrong or missing, or, on a
 * cluster, the user may not read the slots. Undefined for what may pass: a server that is starting, failing over or out
 * of reach.
 */
export function refusalIn(error: Error): string | undefined {
  // On a plain client, NOPERM is about selecting its database, and the client connects anyway. On a cluster it is
  // further down, in the node's error behind the cluster's.
  if (error.message.startsWith('NOPERM')) return undefined
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if (/^(WRONGPASS|NOAUTH|NOPERM)\b/.test(each.message)) return each.message
  }
  return undefined
}
