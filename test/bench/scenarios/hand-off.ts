import type { Contestant } from '../contestants/contestant.ts'
import { waiting as contestants } from '../contestants/index.ts'
import { promiseQueue } from '../contestants/promise-queue.ts'
import { startTeam } from '../crew/start-team.ts'
import { handOffFigures } from '../measure/hand-offs.ts'
import { type BenchOptions, chosen } from '../options.ts'
import { handOffFloor } from './hand-off-floor.ts'
import { type HandOffRun, handOffRun } from './hand-off-run.ts'
import { holdMsFor, tableFor } from './hand-off-sizes.ts'
import type { Figures, Sample, Scenario, Turn } from './scenario.ts'
import { warmUpHandOffs } from './warm-up.ts'

export const handOff: Scenario = {
  name: 'handoff',
  about: 'one key, many waiters, in 1 or more processes: from a release to the next holder',
  contestants,
  columns: [
    { name: 'p50', title: 'p50 ms', digits: 3, better: 'less' },
    { name: 'p99', title: 'p99 ms', digits: 2, better: 'less' },
    { name: 'commands', title: 'commands / hand-off', digits: 3, better: 'less' },
    { name: 'inner', title: 'inner calls', digits: 2 },
    { name: 'entering', title: 'to begin waiting', digits: 3 },
    { name: 'waiting', title: 'waiting / s', digits: 1 },
    { name: 'drain', title: 'drain ms', digits: 0, better: 'less' },
    { name: 'drainOfIdeal', title: '÷ W·hold', digits: 3 },
    { name: 'drainOfHolds', title: '÷ holds', digits: 3 },
    { name: 'displacement', title: 'displaced', digits: 0 },
    { name: 'failed', title: 'failed', digits: 0 },
  ],
  settings: (options) =>
    options.processes.map((processes) => [
      handOffFloor(processes, options),
      ...(processes === 1 ? [turn(promiseQueue, processes, options)] : []),
      ...chosen(contestants, options).map((contestant) => turn(contestant, processes, options)),
    ]),
}

const turn = (contestant: Contestant, processes: number, options: BenchOptions): Turn => ({
  name: `${contestant.name}, ${processes} processes`,
  async play({ server, admin }) {
    await using crew = await startTeam(processes, contestant, server.port)
    await warmUpHandOffs(crew.members)
    const samples: Sample[] = []
    for (const waiters of options.waiters) {
      const holdMs = holdMsFor(waiters, options)
      const plan = { waiters, holdMs, gapMs: waiters < 500 ? 1 : 0.3, heldMs: 200 }
      const run = await handOffRun(admin, crew.members, plan, contestant.sends)
      const table = tableFor(waiters, processes, options)
      samples.push({ table, row: contestant.name, role: contestant.role, figures: figures(run, waiters * holdMs) })
    }
    return samples
  },
})

function figures({ first, served, failed, commands, heldMs }: HandOffRun, idealMs: number): Figures {
  const measured = handOffFigures(first, served)
  if (measured.overlaps > 0) throw new Error(`Two held the lock at once, ${measured.overlaps} times`)
  const { arriving, held, drain } = commands
  return {
    ...measured,
    commands: drain.sent / served.length,
    inner: drain.inner / served.length,
    entering: arriving.sent / (served.length + failed),
    waiting: held.sent / (heldMs / 1_000),
    drainOfIdeal: measured.drain / idealMs,
    failed,
  }
}
