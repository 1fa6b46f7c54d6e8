import type { Contestant } from '../contestants/contestant.ts'
import { bursting as contestants } from '../contestants/index.ts'
import { startTeam } from '../crew/start-team.ts'
import { type BenchOptions, chosen } from '../options.ts'
import type { Sample, Scenario, Turn } from './scenario.ts'

/** How many locks a process has taken when it is looked at. */
export const firstCounts = [1, 100, 1_000] as const

export const firstLocks: Scenario = {
  name: 'first',
  about: 'the first locks of a process that has just started, one after another, each on a free key of its own',
  contestants,
  columns: firstCounts.flatMap((count) => [
    { name: `ms${count}`, title: `first ${count}: ms`, digits: 1, better: 'less' as const },
    { name: `cpu${count}`, title: 'client ms', digits: 1, better: 'less' as const },
  ]),
  settings: (options: BenchOptions) => [chosen(contestants, options).map(turn)],
}

export const firstLocksTable = 'one after another'

/** Nothing is warmed up: what a process pays before its code is compiled is the subject. */
const turn = (contestant: Contestant): Turn => ({
  name: contestant.name,
  async play({ server }) {
    await using crew = await startTeam(1, contestant, server.port)
    const [process] = crew.members
    if (!process) throw new Error('There is nobody to measure with')
    const looks = await process.firstLocks({ counts: firstCounts })
    const figures = Object.fromEntries(
      looks.flatMap(({ count, ms, cpuMs }) => [
        [`ms${count}`, ms],
        [`cpu${count}`, cpuMs],
      ]),
    )
    return [{ table: firstLocksTable, row: contestant.name, role: contestant.role, figures } satisfies Sample]
  },
})
