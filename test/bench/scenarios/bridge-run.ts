import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisAdmin } from '@leasehold/testkit/redis'
import type { WaitersOrder, WakeUp } from '../crew/bridge-jobs.ts'
import type { BridgeProcess } from '../crew/bridge-process.ts'
import type { Crew } from '../crew/crew.ts'
import { sum } from '../measure/statistics.ts'

export interface BridgePlan {
  readonly kind: WaitersOrder['kind']
  readonly waiters: number
  /** The number of keys, with equally many waiters each. */
  readonly keys: number
}

/** The fence of every holder, as a refused acquire would have told the waiters. */
const cursor = '1763942400000000'
/** Longer than any bench, so that no holder's time runs out. */
const ttlMs = 3_600_000
const longestOpeningMs = 60_000

export const keysOf = ({ keys }: BridgePlan): readonly string[] =>
  Array.from({ length: keys }, (_, key) => `bridge-${key}`)

/** Makes every key look held to the bridge. */
export async function holdKeys(admin: RedisAdmin, plan: BridgePlan): Promise<void> {
  const hold = `for key = 0, ARGV[1] - 1 do redis.call('SET', 'lock:bridge-' .. key, ARGV[2], 'PX', ARGV[3]) end`
  await admin.command('EVAL', hold, 0, plan.keys, `${'0'.repeat(32)}.${cursor}`, ttlMs)
}

/** The keys that each process of the crew waits for, one per waiter. */
export type Places = readonly (readonly string[])[]

/** Opens the waiters, spread over the processes, and resolves when the server has all of them. */
export async function openWaiters(bridge: BridgeProcess, crew: Crew, plan: BridgePlan): Promise<Places> {
  const keys = keysOf(plan)
  const waiters = Array.from({ length: plan.waiters }, (_, waiter) => keys[waiter % keys.length] as string)
  const share = Math.ceil(plan.waiters / crew.members.length)
  const places = crew.members.map((_, member) => waiters.slice(member * share, (member + 1) * share))
  await Promise.all(
    crew.members.map((member, which) =>
      member.openWaiters({ url: bridge.url, kind: plan.kind, cursor, keys: places[which] as readonly string[] }),
    ),
  )
  await untilOpen(bridge, plan.kind, plan.waiters)
  return places
}

/** Resolves with all expected wake-ups, once each waiter for these keys has been woken. */
export async function allWoken(crew: Crew, places: Places, keys: readonly string[]): Promise<readonly WakeUp[]> {
  const heard = crew.members.map((member, which) => {
    const waiters = Map.groupBy(places[which] ?? [], (key) => key)
    return member.wakeUps({ count: sum(keys.map((key) => waiters.get(key)?.length ?? 0)) })
  })
  return (await Promise.all(heard)).flat()
}

/** Closes every connection, and resolves when the server has noticed. */
export async function leaveAll(bridge: BridgeProcess, crew: Crew, kind: BridgePlan['kind']): Promise<void> {
  await Promise.all(crew.members.map((member) => member.leave()))
  await untilOpen(bridge, kind, 0)
}

async function untilOpen(bridge: BridgeProcess, kind: BridgePlan['kind'], count: number): Promise<void> {
  const giveUpAt = performance.now() + longestOpeningMs
  for (;;) {
    const now = await bridge.metric(kind === 'poll' ? 'waits' : 'streams')
    if (now === count) return
    if (performance.now() > giveUpAt) throw new Error(`${now} are open instead of ${count}`)
    await sleep(20)
  }
}

/** How long after the release each waiter was woken, in milliseconds, per release, sorted. */
export function delaysOf(sent: readonly WakeUp[], heard: readonly WakeUp[]): readonly (readonly number[])[] {
  const byKey = Map.groupBy(
    heard.toSorted((a, b) => a.at - b.at),
    ({ key }) => key,
  )
  const releases = Map.groupBy(sent, ({ key }) => key)
  return [...releases].flatMap(([key, times]) => {
    const all = byKey.get(key) ?? []
    const each = all.length / times.length
    return times.map(({ at }, turn) => all.slice(turn * each, (turn + 1) * each).map((woken) => woken.at - at))
  })
}
