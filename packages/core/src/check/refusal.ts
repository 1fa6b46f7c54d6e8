import { StoreUnavailableError } from '../errors.ts'
import type { Finding } from '../store/finding.ts'
import type { Refused, Unknown } from '../store/lease-store.ts'
import { type CheckCode, finding } from './catalogue.ts'
import { wordsOf } from './words.ts'

/*
 * What a server's words mean. Redis 6.2, 7.0, 7.2 and Valkey word the same errors differently, and a script's error may
 * come wrapped.
 */
const meanings: readonly (readonly [words: RegExp, code: CheckCode, message: string])[] = [
  [/\b(WRONGPASS|NOAUTH|HTTP 401)\b|Unauthorized/, 'LOGIN_REFUSED', 'The server does not let this client in'],
  [/cluster support disabled/, 'NOT_A_CLUSTER', 'The client is for a cluster, and this server is none'],
  [/unknown command.{0,3}(eval|evalsha)\b/i, 'NO_SCRIPTS', 'The server knows no scripts'],
  [/NOPERM.*run the '(eval|evalsha)\b/i, 'SCRIPTS_FORBIDDEN', 'The user may not run scripts'],
  [/(NOPERM|ACL failure|can't access).*\bkeys?\b/i, 'KEYS_FORBIDDEN', 'The user may not use the keys of locks'],
  [
    /NOPERM|ACL failure|can't run this command/,
    'COMMANDS_FORBIDDEN',
    'The user may not run the commands of the scripts',
  ],
  [/\b(READONLY|MASTERDOWN)\b/, 'IS_REPLICA', 'The server is a replica, and takes no writes'],
  // Before MOVED, which a cluster client quotes after following it in vain.
  [/\bTRYAGAIN\b/, 'NOT_READY', 'A slot of the cluster is being moved'],
  [/\b(MOVED|ASK) \d/, 'CLUSTER_NEEDS_CLIENT', 'The server is a node of a cluster, and the client is a plain one'],
  [/\bCLUSTERDOWN\b/, 'CLUSTER_DOWN', 'The cluster does not serve all of its slots'],
  [/\bOOM\b/, 'MEMORY_FULL', 'The server has reached its memory limit, and takes no new locks'],
  [/\bMISCONF\b/, 'WRITES_STOPPED', 'The server cannot write to its disk, and takes no writes'],
  [/\bNOREPLICAS\b/, 'TOO_FEW_REPLICAS', 'The server has too few replicas, and takes no writes'],
  [/\b(LOADING|BUSY)\b/, 'NOT_READY', 'The server cannot answer yet'],
]

/** The finding for a refusal, or for a request that was not carried out, if the words say why. */
export function refusal(words: string, prefix: string | undefined): Finding | undefined {
  const found = meanings.find(([pattern]) => pattern.test(words))
  return found && finding(found[1], `${found[2]}: ${words}`, prefix)
}

/** Whether words are about a missing permission. */
export const isForbidden = (words: string): boolean =>
  /NOPERM|ACL failure|can't (run|access|publish)|no permissions/i.test(words)

/** Why a request was refused or stayed unanswered, in the store's words; empty if nothing is known. */
export function reasonIn(outcome: Unknown | Refused | undefined): string {
  if (outcome?.type !== 'refused') return wordsOf(outcome?.cause)
  const { error } = outcome
  return (error instanceof StoreUnavailableError && wordsOf(error.cause)) || error.message
}

/** The outcome of one request, as a check reads it. */
export type Outcome = { readonly type: string } | Unknown | Refused | undefined

/** The finding for an unexpected outcome. */
export function failure(outcome: Outcome, prefix: string | undefined): Finding {
  if (outcome && outcome.type !== 'unknown' && outcome.type !== 'refused') {
    return finding('REFUSED', `The store answered "${outcome.type}" about a lock that nobody else wants`)
  }
  const words = reasonIn(outcome as Unknown | Refused | undefined)
  const known = refusal(words, prefix)
  if (known) return known
  return outcome?.type === 'refused'
    ? finding('REFUSED', `The store refuses a lock: ${words}`)
    : finding('UNREACHABLE', `The store does not answer${words && `: ${words}`}`)
}
