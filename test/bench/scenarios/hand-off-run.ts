import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisAdmin } from '@leasehold/testkit/redis'
import type { Jobs } from '../crew/jobs.ts'
import { nowMs, until } from '../measure/clock.ts'
import { type CommandsUsed, commandsBetween, readCommands } from '../measure/commands.ts'
import type { Served } from '../measure/hand-offs.ts'

export interface HandOffPlan {
  readonly waiters: number
  /** How long each waiter holds the lock. */
  readonly holdMs: number
  /** The gap between two arrivals; the waiters arrive at the processes in turn. */
  readonly gapMs: number
  /** How long the first holder keeps the lock once all have arrived. */
  readonly heldMs: number
  /** The processes that wait; by default all. The first process holds. */
  readonly waitIn?: (member: number) => boolean
}

export interface HandOffRun {
  readonly first: { readonly releasedAt: number }
  readonly served: readonly (Served & { readonly member: number })[]
  readonly failed: number
  readonly commands: {
    /** From the first arrival until all had arrived. */
    readonly arriving: CommandsUsed
    /** After that, until the first holder's release. */
    readonly held: CommandsUsed
    /** From then until all were served. */
    readonly drain: CommandsUsed
  }
  /** How long `held` was counted, in milliseconds. */
  readonly heldMs: number
}

/** Time allowed for orders to reach the processes. */
const headStartMs = 30
/** Time allowed for the last arrivals' first tries to be answered, before the cost of waiting is counted. */
const settledMs = 20

/**
 * One holder and many waiters, each of which holds in turn: who was served when, and what the server had to do for it.
 */
export async function handOffRun(
  admin: RedisAdmin,
  members: readonly Jobs[],
  plan: HandOffPlan,
  sends: readonly string[],
): Promise<HandOffRun> {
  const { waiters, holdMs, gapMs, heldMs, waitIn = () => true } = plan
  const key = `hand-off-${randomUUID()}`
  await members[0]?.hold({ key })

  const start = await readCommands(admin)
  const startAt = nowMs() + headStartMs
  const waiting = members.map((_, member) => member).filter(waitIn)
  const arrivalsAt = (member: number): number[] =>
    Array.from({ length: waiters }, (_, waiter) => startAt + waiter * gapMs).filter(
      (_, waiter) => waiting[waiter % waiting.length] === member,
    )
  const runs = members.map(async (jobs, member) => {
    const { served, failed } = await jobs.wait({ key, holdMs, arrivals: arrivalsAt(member) })
    return { failed, served: served.map((waiter) => ({ ...waiter, member })) }
  })

  const arrivedAt = startAt + waiters * gapMs
  await until(arrivedAt + settledMs)
  const arrived = await readCommands(admin)
  const countedFrom = nowMs()
  await until(arrivedAt + heldMs)
  const beforeRelease = await readCommands(admin)
  const countedMs = nowMs() - countedFrom
  const first = (await members[0]?.letGo({ key })) ?? { releasedAt: Number.NaN }
  const all = await Promise.all(runs)
  // The last release may still be in flight to the processes that measure.
  await sleep(settledMs)
  const end = await readCommands(admin)
  return {
    first,
    served: all.flatMap(({ served }) => served),
    failed: all.reduce((total, { failed }) => total + failed, 0),
    commands: {
      arriving: commandsBetween(start, arrived, sends),
      held: commandsBetween(arrived, beforeRelease, sends),
      drain: commandsBetween(beforeRelease, end, sends),
    },
    heldMs: countedMs,
  }
}
