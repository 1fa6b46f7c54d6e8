import { type Makings, splitTransports } from '#process-state'
import { hashTag, type KeyLayout, recordBeside } from '../redis/keys.ts'
import type { ScriptReply } from '../redis/redis-transport.ts'
import { decoder, itself, notALock } from '../redis/replies.ts'
import { runScript } from '../redis/run-script.ts'
import type { Script } from '../redis/scripts/script.ts'
import type { AcquireAllOutcome, AcquireAllRequest, ManyStore } from '../store/many.ts'
import { elderAfterMs, elderComesMs, elderKeptMs } from '../store/many-figures.ts'
import { parseToken } from '../store/token.ts'
import { acquireAll } from './generated/acquire-all.ts'

/** To `runScript`, the script serves one request, whose number of keys depends on its locks. */
const script = acquireAll as unknown as Script<string[], string[], string[]>

/** Several locks of a Redis store at once: one command for all that one script can reach. */
export function redisMany([transport, memory]: Makings, keys: KeyLayout): ManyStore {
  const isSplit = (): boolean => transport.cluster || splitTransports.has(transport)
  const tagOf = (key: string): string => hashTag(keys.lock(key)) ?? keys.lock(key)
  const encode = ({ locks }: AcquireAllRequest): string[] => [
    ...locks.flatMap(({ key }) => [keys.lock(key), keys.fence(key)]),
    ...locks.map(({ key }) => recordBeside(keys.prefix + key, 'elder')),
    ...locks.map(({ acquisitionId }) => acquisitionId),
  ]
  return {
    groupsOf(wanted) {
      const groups: [string, ...string[]][] = []
      for (const key of wanted) {
        const group = groups[groups.length - 1]
        if (group && (!isSplit() || tagOf(group[0]) === tagOf(key))) group.push(key)
        else groups.push([key])
      }
      return groups
    },
    async acquireAll(request, call) {
      const { locks, ttlMs, waitedMs } = request
      const args = [memory, ...[ttlMs, waitedMs, elderAfterMs, elderKeptMs, elderComesMs].map(String)]
      const count = 3 * locks.length
      const outcomes = await runScript(transport, script, args, count, [request], encode, acquireAllOutcome, call)
      return outcomes[0] as AcquireAllOutcome
    },
  }
}

const outcome = decoder<AcquireAllOutcome>({
  granted(tokens) {
    const grants = tokens.map((token) => ({ token: token as string, fence: parseToken(token)?.fence ?? -1 }))
    return grants.every(({ fence }) => fence >= 0) && { type: 'granted', grants }
  },
  held: ([place, pttl, cursor, holder, isElder]) =>
    typeof pttl === 'number' && {
      type: 'held',
      at: Number(place) - 1,
      expiresInMs: pttl < 0 ? null : pttl,
      cursor: String(cursor),
      holder: (holder as string) || null,
      isElder: isElder === 1,
    },
  spent: itself,
  other: ([, place]) => ({ ...notALock(), at: Number(place) - 1 }),
})

const acquireAllOutcome = (reply: ScriptReply): AcquireAllOutcome =>
  reply.type === 'error' && /^CROSSSLOT/.test(reply.message) ? { type: 'apart' } : outcome(reply)
