/** A chain of causes is read to this depth, in case it is circular. */
const deepest = 5

/** The messages of an error and its causes, each once. Adapters keep credentials out of all of them. */
export function wordsOf(error: unknown, depth = 1): string {
  if (error === undefined || error === null || depth > deepest) return ''
  const { message, cause } = error as { readonly message?: unknown; readonly cause?: unknown }
  const own = typeof message === 'string' ? message : String(error)
  const behind = wordsOf(cause, depth + 1)
  return !behind || own.includes(behind) ? own : `${own}: ${behind}`
}
