import type { Contestant } from '../contestants/contestant.ts'
import { weighed as contestants } from '../contestants/index.ts'
import type { Weight } from '../crew/holding-jobs.ts'
import type { Jobs } from '../crew/jobs.ts'
import { startTeam } from '../crew/start-team.ts'
import { type BenchOptions, chosen } from '../options.ts'
import type { Sample, Scenario, Turn } from './scenario.ts'

/** Each figure comes from a separate process, so that what one leaves behind does not count for the next. */
export const memory: Scenario = {
  name: 'memory',
  about:
    'bytes of heap after garbage collection: of a held lock, of a waiter behind its own process, of a lease with its signal',
  contestants,
  columns: [
    { name: 'each', title: 'bytes each', digits: 0, better: 'less' },
    { name: 'left', title: 'left afterwards', digits: 0 },
  ],
  settings: (options) => [chosen(contestants, options).map((contestant) => turn(contestant, options))],
}

export const memoryTables = {
  held: 'a held lock',
  signal: 'a held lock whose signal was asked for',
  waiter: 'a waiter in line',
} as const

const turn = (contestant: Contestant, { weighed: count }: BenchOptions): Turn => ({
  name: contestant.name,
  async play({ server, admin }) {
    const samples: Sample[] = []
    const weigh = async (table: string, job: (process: Jobs) => Promise<Weight>): Promise<void> => {
      await admin.command('FLUSHALL')
      await using crew = await startTeam(1, contestant, server.port)
      const [process] = crew.members
      if (!process) throw new Error('There is nobody to measure with')
      const figures = { ...(await job(process)) }
      samples.push({ table, row: contestant.name, role: contestant.role, figures })
    }
    await weigh(memoryTables.held, (process) => process.weighHeld({ count }))
    // A library whose leases have no signal would be weighed twice.
    if (contestant.role === 'ours') {
      await weigh(memoryTables.signal, (process) => process.weighHeld({ count, withSignal: true }))
    }
    await weigh(memoryTables.waiter, (process) =>
      process.weighWaiters({ count, untilServed: contestant.role !== 'other' }),
    )
    return samples
  },
})
