import { randomUUID } from 'node:crypto'
import type { Contestant } from '../contestants/contestant.ts'
import { costModel as contestants } from '../contestants/index.ts'
import { startTeam } from '../crew/start-team.ts'
import { nowMs, until } from '../measure/clock.ts'
import { commandsBetween, readCommands } from '../measure/commands.ts'
import { handOffFigures } from '../measure/hand-offs.ts'
import { chosen } from '../options.ts'
import { type HandOffPlan, handOffRun } from './hand-off-run.ts'
import type { Sample, Scenario, Stage, Turn } from './scenario.ts'

/** The example of the cost model: W waiters arrive at once, the holder stays for L, and pollers check every b. */
export const costModelExample = { waiters: 100, heldMs: 500, pollMs: 50 } as const
const { waiters, heldMs, pollMs } = costModelExample

export const waitingCost: Scenario = {
  name: 'waiting',
  about: `what waiting costs: ${waiters} waiters, the lock held for ${heldMs} ms, polled each ${pollMs} ms or announced`,
  contestants,
  columns: [
    { name: 'held', title: 'commands while held', digits: 0, better: 'less' },
    { name: 'toFirst', title: 'to the first hand-off', digits: 0, better: 'less' },
    { name: 'all', title: 'in all', digits: 0, better: 'less' },
    { name: 'firstDelay', title: 'first delay ms', digits: 2, better: 'less' },
    { name: 'drain', title: 'drain ms', digits: 0, better: 'less' },
    { name: 'failed', title: 'failed', digits: 0 },
  ],
  settings: (options) => [
    [model(waitingTable(1)), ...chosen(contestants, options).map((contestant) => turn(contestant, 1))],
    [model(waitingTable(2)), ...chosen(contestants, options).map((contestant) => turn(contestant, 2))],
  ],
}

export const waitingTable = (processes: number): string =>
  processes === 1 ? 'waiters in the process of the holder' : 'waiters in another process than the holder'

/** The model's prediction for a polled lock: W·⌈L/b⌉ tries, and half a pause until somebody checks. */
const model = (name: string): Turn => ({
  name: 'model',
  async play() {
    const held = waiters * Math.ceil(heldMs / pollMs)
    const figures = { held, firstDelay: pollMs / 2 }
    return [{ table: name, row: 'model: W·⌈L/b⌉, b/2', role: 'floor', figures }]
  },
})

const turn = (contestant: Contestant, processes: number): Turn => ({
  name: `${contestant.name}, ${processes} processes`,
  async play(stage) {
    const toFirst = await commandsToFirst(stage, contestant, processes)
    const { first, served, failed, commands } = await drained(stage, contestant, processes)
    const { drain } = handOffFigures(first, served)
    const held = commands.arriving.sent + commands.held.sent
    const firstDelay = Math.min(...served.map(({ acquiredAt }) => acquiredAt)) - first.releasedAt
    const figures = { held, toFirst, all: held + commands.drain.sent, firstDelay, drain, failed }
    return [{ table: waitingTable(processes), row: contestant.name, role: contestant.role, figures } satisfies Sample]
  },
})

const atOnce: HandOffPlan = { waiters, holdMs: 5, gapMs: 0, heldMs, waitIn: (member) => member > 0 }
const warmUp: HandOffPlan = { ...atOnce, waiters: 20, holdMs: 1, heldMs: 50 }

async function drained({ server, admin }: Stage, contestant: Contestant, processes: number) {
  await using crew = await startTeam(processes, contestant, server.port)
  const place = processes === 1 ? { waitIn: () => true } : {}
  await handOffRun(admin, crew.members, { ...warmUp, ...place }, contestant.sends)
  return await handOffRun(admin, crew.members, { ...atOnce, ...place }, contestant.sends)
}

/** Counted separately, since the waiters after the first continue at once. */
export async function commandsToFirst(
  { server, admin }: Stage,
  contestant: Contestant,
  processes: number,
): Promise<number> {
  await using crew = await startTeam(processes, contestant, server.port)
  const [holder, waiter = holder] = crew.members
  if (!holder || !waiter) throw new Error('There is nobody to wait')
  const place = processes === 1 ? { waitIn: () => true } : {}
  await handOffRun(admin, crew.members, { ...warmUp, ...place }, contestant.sends)

  const key = `first-${randomUUID()}`
  await holder.hold({ key })
  const before = await readCommands(admin)
  const arrivesAt = nowMs() + 10
  const first = waiter.first({ key, arrivals: Array.from({ length: waiters }, () => arrivesAt) })
  await until(arrivesAt + heldMs)
  await holder.letGo({ key })
  await first
  return commandsBetween(before, await readCommands(admin), contestant.sends).sent
}
