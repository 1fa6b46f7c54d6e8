import type { Contestant } from '../contestants/contestant.ts'
import { bursting as contestants } from '../contestants/index.ts'
import { startTeam } from '../crew/start-team.ts'
import { type BenchOptions, chosen } from '../options.ts'
import type { Sample, Scenario, Turn } from './scenario.ts'

const ttlMs = 3_000

export const burst: Scenario = {
  name: 'burst',
  about: `locks of ${ttlMs / 1_000} s on different keys, all asked for in one turn of the event loop by a fresh process`,
  contestants,
  columns: [
    { name: 'granted', title: 'granted', digits: 0 },
    { name: 'failed', title: 'failed', digits: 0 },
    { name: 'ms', title: 'ms until all were answered', digits: 0, better: 'less' },
  ],
  settings: (options) => [chosen(contestants, options).map((contestant) => turn(contestant, options))],
}

export const burstTable = (count: number): string => `${count} at once`

/** Nothing is warmed up: a process that has just started is the subject. */
const turn = (contestant: Contestant, { burst: count }: BenchOptions): Turn => ({
  name: contestant.name,
  async play({ server }) {
    await using crew = await startTeam(1, contestant, server.port)
    const [process] = crew.members
    if (!process) throw new Error('There is nobody to measure with')
    const { granted, failed, ms, problem } = await process.burst({ count, ttlMs })
    if (problem !== undefined) console.error(`${contestant.name}: ${problem}`)
    const figures = { granted, failed, ms }
    return [{ table: burstTable(count), row: contestant.name, role: contestant.role, figures } satisfies Sample]
  },
})
