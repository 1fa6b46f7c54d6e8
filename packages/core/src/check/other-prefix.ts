import { decoder } from '../redis/replies.ts'
import { runScript } from '../redis/run-script.ts'
import type { Finding } from '../store/finding.ts'
import type { Refused, Unknown } from '../store/lease-store.ts'
import type { Budget } from './budget.ts'
import { finding } from './catalogue.ts'
import { elsewhere } from './generated/elsewhere.ts'
import type { RedisBehind } from './survey.ts'

interface Seen {
  readonly type: 'seen'
  /** A lock's name, one under the store's prefix if there is any; empty if no lock was seen. */
  readonly lock: string
}

const decoded = decoder<Seen>({ seen: ([lock]) => ({ type: 'seen', lock: String(lock) }) })

/**
 * Reports that locks were taken lately under another prefix and none under the store's: with that prefix, a service and
 * this store do not exclude each other. It looks at the first keys of each node alone, so as to hold up nobody.
 *
 * @param keys a key on each node
 */
export async function otherPrefix(
  { transport, prefix }: RedisBehind,
  keys: readonly string[],
  budget: Budget,
): Promise<readonly Finding[]> {
  const answers: readonly (Seen | Unknown | Refused)[] =
    (await budget.ask(transport.commandDeadlineMs, (call) =>
      runScript(transport, elsewhere, [prefix], 1, keys, (key): [string] => [prefix + key], decoded, call),
    )) ?? []
  const locks = answers.flatMap((answer) => (answer.type === 'seen' && answer.lock ? [answer.lock] : []))
  if (!locks[0] || locks.some((lock) => lock.startsWith(prefix))) return []
  const message = `No lock was seen under the prefix "${prefix}", but some under another, such as "${locks[0]}"`
  return [finding('OTHER_PREFIX', message)]
}
