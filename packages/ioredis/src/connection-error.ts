import { withoutQuotation } from './script-reply.ts'

/** What clients put behind a failure: the cause, a cluster's last node, or the addresses of a name that were tried. */
interface Failure {
  readonly code?: unknown
  readonly cause?: unknown
  readonly lastNodeError?: unknown
  readonly errors?: readonly unknown[]
}

/** A chain of causes is cut here, in case it is a ring. */
const deepest = 4

/**
 * A copy of a client's error and of its causes: their names, messages and codes, and nothing else. The client puts the command
 * on an error, and the command of a refused password is `AUTH` with the password. Messages quote no arguments either.
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
 * The server's own words, if it will not let this client in however often the client asks: a wrong password or none, or on a
 * cluster no permission to read its slots. Anything else may pass: a server that starts, fails over or cannot be reached.
 */
export function refusalIn(error: Error): string | undefined {
  // Behind the error of a cluster is the node's. That of a plain client is about its database, and it connects all the same.
  if (error.message.startsWith('NOPERM')) return undefined
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if (/^(WRONGPASS|NOAUTH|NOPERM)\b/.test(each.message)) return each.message
  }
  return undefined
}
