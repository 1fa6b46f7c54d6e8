import type { Contestant } from '../contestants/contestant.ts'
import { uncontended as contestants } from '../contestants/index.ts'
import { startCrew } from '../crew/crew.ts'
import { commandsBetween, readCommands } from '../measure/commands.ts'
import { median, percentile } from '../measure/statistics.ts'
import { type BenchOptions, chosen } from '../options.ts'
import type { Sample, Scenario, Turn } from './scenario.ts'

export const uncontended: Scenario = {
  name: 'uncontended',
  about: 'acquire and release of free locks, one or many at once in one process',
  contestants,
  columns: [
    { name: 'p50', title: 'p50 ms', digits: 3, better: 'less' },
    { name: 'p99', title: 'p99 ms', digits: 2, better: 'less' },
    { name: 'rate', title: 'pairs / s', digits: 0, better: 'more' },
    { name: 'commands', title: 'commands / pair', digits: 2, better: 'less' },
    { name: 'inner', title: 'inner calls', digits: 2 },
  ],
  settings: (options) => [chosen(contestants, options).map((contestant) => turn(contestant, options))],
}

const warmUpMs = 400

const turn = (contestant: Contestant, { inFlight, loopMs }: BenchOptions): Turn => ({
  name: contestant.name,
  async play({ server, admin }) {
    await using crew = await startCrew(1, contestant, server.port)
    const [process] = crew.members
    if (!process) throw new Error('There is nobody to measure with')
    const samples: Sample[] = []
    for (const loops of inFlight) {
      await process.loop({ inFlight: loops, forMs: warmUpMs })
      const before = await readCommands(admin)
      const pairs = await process.loop({ inFlight: loops, forMs: loopMs })
      const { sent, inner } = commandsBetween(before, await readCommands(admin), contestant.sends)
      const figures = {
        p50: median(pairs),
        p99: percentile(pairs, 0.99),
        rate: pairs.length / (loopMs / 1_000),
        commands: sent / pairs.length,
        inner: inner / pairs.length,
      }
      samples.push({ table: `${loops} in flight`, row: contestant.name, role: contestant.role, figures })
    }
    return samples
  },
})
