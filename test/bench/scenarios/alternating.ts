import type { Contestant } from '../contestants/contestant.ts'
import { alternating as contestants } from '../contestants/index.ts'
import { startTeam } from '../crew/start-team.ts'
import { median } from '../measure/statistics.ts'
import { type BenchOptions, chosen } from '../options.ts'
import type { Scenario, Turn } from './scenario.ts'
import { warmUpPairs, warmUpPairsAt } from './warm-up.ts'

/** Short enough that the machine is alike for all, and long enough for some hundred locks. */
const sliceMs = 100
const slices = 40

/**
 * With one lock at a time, most of the time belongs to the kernel and the machine, which differ more from one second to the
 * next than contestants do.
 */
export const alternating: Scenario = {
  name: 'alternating',
  about: `one free lock at a time, by contestants that take turns of ${sliceMs} ms`,
  contestants,
  columns: [
    { name: 'p50', title: 'p50 ms', digits: 3, better: 'less', eachFloor: true },
    { name: 'cpu', title: 'client µs', digits: 0, better: 'less', eachFloor: true },
  ],
  settings: (options: BenchOptions) => [[turn(chosen(contestants, options))]],
}

export const alternatingTable = 'one in flight, by turns'

const turn = (all: readonly Contestant[]): Turn => ({
  name: 'all of them',
  async play({ server }) {
    await using stack = new AsyncDisposableStack()
    const runs = []
    for (const contestant of all) {
      const [process] = stack.use(await startTeam(1, contestant, server.port)).members
      if (!process) throw new Error('There is nobody to measure with')
      await warmUpPairs(process)
      await warmUpPairsAt(process, 1)
      runs.push({ contestant, process, looks: [] as { pairs: number; p50: number; cpuMs: number }[] })
    }
    for (let slice = 0; slice < slices; slice++) {
      for (const { process, looks } of runs) looks.push(await process.loop({ inFlight: 1, forMs: sliceMs }))
      // Nobody always follows the same neighbour's load.
      if (slice % 2 === 1) runs.reverse()
    }
    return runs.map(({ contestant: { name, role }, looks }) => {
      const figures = {
        p50: median(looks.map(({ p50 }) => p50)),
        cpu: median(looks.map(({ cpuMs, pairs }) => (cpuMs / pairs) * 1_000)),
      }
      return { table: alternatingTable, row: name, role, figures }
    })
  },
})
