/**
 * Why Redis cannot be used at present, in one sentence. `message` is for the operator and may name the server's address.
 * `publicMessage` is for anybody: of Redis's own words it has only the kind of the error and the command concerned.
 */
export class RedisProblem extends Error {
  readonly publicMessage: string

  /** @param cause must hold no credentials; the innermost cause is given as the reason */
  constructor(what: string, cause?: unknown) {
    const causes = causesOf(cause)
    const reason = causes[0]?.message
    super(reason ? `${what}: ${reason}` : what)
    this.name = 'RedisProblem'
    const known = causes.map(publicReason).find((each) => each !== undefined)
    this.publicMessage = known ? `${what}: ${known}` : what
  }
}

/** A chain of causes is cut at this depth, in case it is a ring. */
const deepest = 6

/** The innermost first. */
function causesOf(cause: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let each = cause; each instanceof Error && causes.length < deepest; each = each.cause) causes.unshift(each)
  return causes
}

/** Words that Redis begins an error with, and that say enough by themselves. */
const kinds =
  /\b(NOPERM|WRONGPASS|NOAUTH|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|OOM|READONLY|MISCONF|NOREPLICAS)\b/

function publicReason({ message, code }: Error & { readonly code?: unknown }): string | undefined {
  // Redis 7.0 leaves the word out if the refused command is in a script.
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
