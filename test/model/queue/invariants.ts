import { priorityStepMs } from '../../../packages/core/src/store/queue-figures.ts'
import type { Belief, ModelWaiter } from './model-waiter.ts'
import type { World } from './world.ts'

/** The problems of a run, each prefixed with the name of the invariant. A sound run has none. */
export function problemsOf(world: World): readonly string[] {
  return [
    ...world.confused.slice(0, 1),
    ...exclusion(world),
    ...fences(world),
    ...order(world),
    ...starvation(world),
    ...leftovers(world),
  ]
}

/** No more permits are believed to be held than there are. */
function exclusion({ beliefs, wipedFence = 0, mostCapacity }: World): readonly string[] {
  // No lock survives a restart without data.
  const real = beliefs.filter(({ fromMs, untilMs, waiter }) => untilMs > fromMs && (waiter.fence ?? 0) > wipedFence)
  const edges = real.flatMap((belief) => [
    { atMs: belief.fromMs, begins: true, belief },
    { atMs: belief.untilMs, begins: false, belief },
  ])
  edges.sort((a, b) => a.atMs - b.atMs || Number(a.begins) - Number(b.begins))
  const active = new Set<Belief>()
  let permits = 0
  for (const { atMs, begins, belief } of edges) {
    permits += begins ? belief.waiter.wish.permits : -belief.waiter.wish.permits
    if (begins) active.add(belief)
    else active.delete(belief)
    if (begins && permits > mostCapacity) {
      return [`exclusion: at ${atMs.toFixed()} all of ${[...active].map(({ waiter }) => waiter).join(', ')} believe`]
    }
  }
  return []
}

/** With one holder at a time, fences rise. */
function fences({ beliefs, wipedFence, isShared }: World): readonly string[] {
  if (isShared || wipedFence !== undefined) return []
  const seen = beliefs.filter(({ fromMs, untilMs }) => untilMs > fromMs).sort((a, b) => a.fromMs - b.fromMs)
  const back = seen.find(({ waiter }, at) => at > 0 && (waiter.fence ?? 0) <= (seen[at - 1]?.waiter.fence ?? 0))
  return back ? [`fences: that of ${back.waiter} is not higher than the one before`] : []
}

/**
 * Waiters never passed over are served in order of arrival, each class that many steps later. Who has the turn keeps it,
 * whoever comes.
 */
function order({ waiters, grants, faults, behaviour, wipedFence, isShared }: World): readonly string[] {
  if (wipedFence !== undefined) return []
  const grantedMs = new Map(grants.toReversed().map(({ waiter, atMs }) => [waiter, atMs]))
  // Several may have the turn at once, and take it in any order.
  const servedMs = (it: ModelWaiter): number => (isShared ? it.servedMs : grantedMs.get(it)) ?? Infinity
  const isKept = (it: ModelWaiter): boolean =>
    servedMs(it) < Infinity &&
    it.enteredMs !== undefined &&
    !it.passedOver &&
    it.draws === 1 &&
    it.gaveUpMs === undefined
  const served = waiters.filter(isKept).sort((a, b) => servedMs(a) - servedMs(b))
  // The time between the last request and the moment when the clock was set back is lost.
  const slackMs = faults.setBackMs > 0 ? behaviour.recheckMs : 1
  const problems = new Map<'order' | 'turn', string>()
  // A plain acquire, too, ends a turn that nobody has taken yet.
  const keepsTurns = !isShared && faults.plain === 0
  for (const [at, waiter] of served.entries()) {
    for (const other of served.slice(at + 1)) {
      const earlierMs = (waiter.enteredMs ?? 0) - (other.enteredMs ?? 0)
      if (keepsTurns && (other.servedMs ?? Infinity) < (waiter.enteredMs ?? 0)) {
        problems.set('turn', `turn: ${waiter} before ${other}, who had the turn`)
      }
      if ((other.enteredMs ?? 0) >= (waiter.servedMs ?? servedMs(waiter))) continue
      const boundMs = (other.wish.priorityClass - waiter.wish.priorityClass) * priorityStepMs + slackMs
      if (earlierMs > boundMs) {
        problems.set('order', `order: ${waiter} before ${other}, who came ${earlierMs.toFixed()} ms earlier`)
      }
    }
  }
  return [...problems.values()]
}

/** Everybody alive who has not given up gets the lock. */
function starvation({ waiters }: World): readonly string[] {
  const hungry = waiters.filter((it) => it.beganMs === undefined && it.gaveUpMs === undefined && !it.process.dead)
  return hungry.length > 0 ? [`starved: ${hungry.slice(0, 4).join(', ')} (${hungry.length})`] : []
}

/** Two minutes after the end nothing is left. */
function leftovers(world: World): readonly string[] {
  const { held, waiting } = world.stateIn(120_000)
  return held + waiting > 0 ? [`left: ${held} permits are held, and ${waiting} wait`] : []
}

/** The longest time during which no live process used the lock while a waiter of a faultless process stood in line. */
export function worstRecoveryMs({ beliefs, waiters, nowMs }: World): number {
  const useful: [number, number][] = []
  for (const { fromMs, untilMs, waiter } of beliefs) {
    let beginMs = fromMs
    for (const [awayMs, backMs] of waiter.process.absences) {
      if (beginMs < awayMs && awayMs < untilMs) useful.push([beginMs, awayMs])
      if (awayMs < untilMs && beginMs < backMs) beginMs = Math.min(backMs, untilMs)
    }
    if (untilMs > beginMs) useful.push([beginMs, untilMs])
  }
  useful.sort((a, b) => a[0] - b[0])
  const waits = waiters
    .filter((it) => it.arrivedMs !== undefined && !it.process.faulty && !it.process.http && !it.plain && !it.wish.tries)
    .map((it) => [it.arrivedMs as number, it.beganMs ?? it.gaveUpMs ?? nowMs] as const)
  let [worstMs, freeFromMs] = [0, 0]
  for (const [beginMs, endMs] of [...useful, [Infinity, Infinity] as const]) {
    if (beginMs > freeFromMs) {
      for (const [arrivedMs, untilMs] of waits) {
        worstMs = Math.max(worstMs, Math.min(beginMs, untilMs) - Math.max(freeFromMs, arrivedMs))
      }
    }
    freeFromMs = Math.max(freeFromMs, endMs)
  }
  return worstMs
}
