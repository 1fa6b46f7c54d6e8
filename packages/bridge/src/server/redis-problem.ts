/**
 * Why Redis is of no use at present, in one sentence. The message is for the operator, and may name the server's address. The
 * public one is for whoever asks: of Redis' own words it has the kind of the error and the command that is meant, and nothing
 * else that somebody typed in.
 */
export class RedisProblem extends Error {
  readonly publicMessage: string

  /** @param cause without credentials; the deepest of its causes is the reason */
  constructor(what: string, cause?: unknown) {
    const causes = causesOf(cause)
    const reason = causes[0]?.message
    super(reason ? `${what}: ${reason}` : what)
    this.name = 'RedisProblem'
    const known = causes.map(publicReason).find((each) => each !== undefined)
    this.publicMessage = known ? `${what}: ${known}` : what
  }
}

/** A chain of causes is cut here, in case it is a ring. */
const deepest = 6

/** The deepest one first. */
function causesOf(cause: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let each = cause; each instanceof Error && causes.length < deepest; each = each.cause) causes.unshift(each)
  return causes
}

/** The words that Redis begins an error with, and that say enough by themselves. */
const kinds =
  /\b(NOPERM|WRONGPASS|NOAUTH|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|OOM|READONLY|MISCONF|NOREPLICAS)\b/

function publicReason({ message, code }: Error & { readonly code?: unknown }): string | undefined {
  // What a script is refused comes without the word in Redis 7.0.
  if (/user executing the script/i.test(message)) return "NOPERM, for a command of the script ('get', 'pttl')"
  const kind = kinds.exec(message)?.[1]
  if (kind === 'NOPERM') return `NOPERM${refusedPart(message)}`
  if (kind) return kind
  const systemCode = /\b(E[A-Z]{4,}|ERR_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)\b/
  return systemCode.exec(String(code))?.[1] ?? systemCode.exec(message)?.[1]
}

function refusedPart(message: string): string {
  const command = /run the '([\w|-]{1,32})' command/.exec(message)?.[1]
  if (command) return `, for the '${command}' command`
  if (/channel/.test(message)) return ', for the channels of the prefix'
  return /key/.test(message) ? ', for the keys of the prefix' : ''
}
