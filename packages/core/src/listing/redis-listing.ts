import type { Makings } from '#process-state'
import { LeaseholdError } from '../errors.ts'
import { type KeyLayout, literally, queueKeys } from '../redis/keys.ts'
import { unsent } from '../redis/replies.ts'
import { runScript } from '../redis/run-script.ts'
import { only } from '../store/answered.ts'
import type { Refused } from '../store/lease-store.ts'
import type { ListingStore, ReadOutcome } from '../store/listing.ts'
import { mostRestarts } from './figures.ts'
import { find } from './generated/find.ts'
import { read } from './generated/read.ts'
import { foundOutcome, readOutcome } from './listing-replies.ts'
import { beginning, following } from './place.ts'

/**
 * Lists the locks of a Redis store by `SCAN`, one node after the other. One pass finds both locks and queues, because a
 * lock that is about to pass to a waiter has no entry.
 */
export function redisListing([transport]: Makings, keys: KeyLayout): ListingStore {
  const { prefix } = keys
  const found = foundOutcome(keys)
  const itself = (node: string): [string] => [node]
  const encode = (key: string): [string, string, string, string] => {
    const [lock, , queue, , , state] = queueKeys(keys, key)
    return [lock, queue, state, keys.releaseChannel(key)]
  }
  return {
    async find(pattern, from, call) {
      // A cluster client that is still connecting does not know any nodes.
      const reply = from ? undefined : await transport.whenReady(prefix, call)
      if (reply) return unsent(reply)
      const place = from ?? (await beginning(transport, prefix, 0))
      if (place.restarts > mostRestarts) return unsteady()
      const args: [string, string, string] = [place.cursor, `*${literally(prefix)}${pattern}*`, prefix]
      const node = place.nodes.slice(0, 1).map(({ key }) => key)
      const outcome = await only(runScript(transport, find, args, 1, node, itself, found, call))
      if (outcome?.type !== 'found') return outcome ?? { type: 'found', keys: [], next: undefined }
      const next = await following(transport, prefix, place, outcome.cursor)
      return { type: 'found', keys: outcome.keys, next }
    },

    async read(locks, call) {
      const outcomes = await runScript(transport, read, [], 3, locks, encode, readOutcome, call)
      return outcomes.map((outcome, at): ReadOutcome => {
        return outcome.type === 'lock' ? { type: 'lock', lock: { key: locks[at] as string, ...outcome.lock } } : outcome
      })
    },
  }
}

const unsteady = (): Refused => ({
  type: 'refused',
  error: new LeaseholdError(
    'STORE_UNAVAILABLE',
    'Keys keep moving between the nodes of the cluster; list the locks later',
  ),
})
