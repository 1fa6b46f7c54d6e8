import type { Contestant } from '../contestants/contestant.ts'
import { pooled as contestants } from '../contestants/index.ts'
import { capacity } from '../contestants/semaphores.ts'
import { startTeam } from '../crew/start-team.ts'
import { commandsBetween, readCommands } from '../measure/commands.ts'
import { redisCpuMs } from '../measure/redis-cpu.ts'
import { type BenchOptions, chosen } from '../options.ts'
import { contended, contendedColumns } from './hot-key.ts'
import type { Scenario, Turn } from './scenario.ts'
import { warmUpPairs, warmUpPairsAt } from './warm-up.ts'

/** How many at once want a permit, each from its own pool. */
const alone: readonly number[] = [1, 16]

export const permits: Scenario = {
  name: 'permits',
  about: `permits of a semaphore that has ${capacity}: of pools that nobody else wants, and of one that many loops want`,
  contestants,
  columns: [
    { name: 'p50', title: 'p50 ms', digits: 3, better: 'less' },
    ...contendedColumns,
    { name: 'redisCpu', title: 'Redis µs each', digits: 1, better: 'less' },
  ],
  settings: (options) => [
    ...alone.map((loops) => chosen(contestants, options).map((contestant) => free(contestant, loops, options))),
    ...options.hotProcesses.map((processes) =>
      chosen(contestants, options).map((contestant) => contended(contestant, processes, options)),
    ),
  ],
}

const free = (contestant: Contestant, loops: number, { loopMs }: BenchOptions): Turn => ({
  name: `${contestant.name}, ${loops} alone`,
  async play({ server, admin }) {
    await using crew = await startTeam(1, contestant, server.port)
    const [process] = crew.members
    if (!process) throw new Error('There is nobody to measure with')
    await warmUpPairs(process)
    await warmUpPairsAt(process, loops)
    const [before, cpuBefore] = [await readCommands(admin), await redisCpuMs(admin)]
    const { pairs, p50, cpuMs } = await process.loop({ inFlight: loops, forMs: loopMs })
    const redisMs = (await redisCpuMs(admin)) - cpuBefore
    const { sent } = commandsBetween(before, await readCommands(admin), contestant.sends)
    const figures = {
      p50,
      rate: pairs / (loopMs / 1_000),
      commands: sent / pairs,
      cpu: (cpuMs / pairs) * 1_000,
      redisCpu: (redisMs / pairs) * 1_000,
    }
    return [{ table: `pools of their own, ${loops} at once`, row: contestant.name, role: contestant.role, figures }]
  },
})
