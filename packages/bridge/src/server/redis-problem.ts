/**
 * Why Redis cannot be used at present, in one sentence. `message` is for the operator and may name the server's address.
 * `publicMessage` is for anybody: from Redis's own words it keeps only the kind of error and the command concerned.
 */
export class RedisProblem extends Error {
  readonly publicMessage: string

  /** @param cause must contain no credentials; the innermost cause is given as the reason */
  constructor(what: string, cause?: unknown) {
    const causes = causesOf(cause)
    const reason = causes[0]?.message
    super(reason ? `${what}: ${reason}` : what)
    this.name = 'RedisProblem'
    const known = causes.map(publicReason).find((each) => each !== undefined)
    this.publicMessage = known ? `${what}: ${known}` : what
  }
}

/** The depth at which a chain of causes is cut, in case it is circular. */
const deepest = 6

/** The chain of causes, innermost first. */
function causesOf(cause: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let each = cause; each instanceof Error && causes.length < deepest; each = each.cause) causes.unshift(each)
  return causes
}

/** The codes that begin Redis errors and say enough on their own. */
const kinds =
  /\b(NOPERM|WRONGPASS|NOAUTH|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|OOM|READONLY|MISCONF|NOREPLICAS)\b/

function publicReason({ message, code }: Error & { readonly code?: unknown }): string | undefined {
  // Redis 7.0 omits the code if the refused command is in a script.
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
