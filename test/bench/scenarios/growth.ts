import type { Contestant } from '../contestants/contestant.ts'
import { leasehold } from '../contestants/leasehold.ts'
import { redisSemaphore50 } from '../contestants/redis-semaphore.ts'
import { redlock50 } from '../contestants/redlock.ts'
import { startTeam } from '../crew/start-team.ts'
import { redisCpuMs } from '../measure/redis-cpu.ts'
import { exponent } from '../measure/statistics.ts'
import { type BenchOptions, chosen } from '../options.ts'
import { type HandOffPlan, handOffRun } from './hand-off-run.ts'
import type { Figures, Sample, Scenario, Stage, Turn } from './scenario.ts'
import { warmUpHandOffs, warmUpPairs, warmUpPairsAt } from './warm-up.ts'

const contestants: readonly Contestant[] = [leasehold, redlock50, redisSemaphore50]

/** How many waiters, and how many keys at once. */
export const growthSizes = [10, 100, 1_000] as const

export const growth: Scenario = {
  name: 'growth',
  about: 'what one hand-off, and one pair on a free key, costs as there are ten times and a hundred times as many',
  contestants,
  columns: [
    ...growthSizes.map((size) => ({ name: `at${size}`, title: `${size}`, digits: 3, better: 'less' as const })),
    { name: 'exponent', title: 'exponent', digits: 2 },
  ],
  settings: (options) => [chosen(contestants, options).map((contestant) => turn(contestant, options))],
}

export const growthTables = {
  handOffCommands: 'commands a hand-off, by waiters',
  handOffCpu: 'client µs a hand-off, by waiters',
  pairCpu: 'client µs a pair, by keys at once',
  pairRedisCpu: 'Redis µs a pair, by keys at once',
} as const

const plan: Omit<HandOffPlan, 'waiters'> = { holdMs: 1, gapMs: 0, heldMs: 100 }

const turn = (contestant: Contestant, { loopMs }: BenchOptions): Turn => ({
  name: contestant.name,
  async play(stage) {
    const handOffs = await handOffCosts(stage, contestant)
    const pairs = await pairCosts(stage, contestant, loopMs)
    const sample = (table: string, costs: readonly number[]): Sample => ({
      table,
      row: contestant.name,
      role: contestant.role,
      figures: grown(costs),
    })
    return [
      sample(
        growthTables.handOffCommands,
        handOffs.map(({ commands }) => commands),
      ),
      sample(
        growthTables.handOffCpu,
        handOffs.map(({ cpu }) => cpu),
      ),
      sample(
        growthTables.pairCpu,
        pairs.map(({ cpu }) => cpu),
      ),
      sample(
        growthTables.pairRedisCpu,
        pairs.map(({ redisCpu }) => redisCpu),
      ),
    ]
  },
})

const grown = (costs: readonly number[]): Figures => ({
  ...Object.fromEntries(growthSizes.map((size, at) => [`at${size}`, costs[at] ?? Number.NaN])),
  exponent: exponent(growthSizes.map((size, at) => [size, costs[at] ?? Number.NaN] as const)),
})

async function handOffCosts({ server, admin }: Stage, contestant: Contestant) {
  await using crew = await startTeam(1, contestant, server.port)
  const [process] = crew.members
  if (!process) throw new Error('There is nobody to measure with')
  await warmUpHandOffs(crew.members)
  const costs: { readonly commands: number; readonly cpu: number }[] = []
  for (const waiters of growthSizes) {
    const before = await process.cpuMs()
    const { served, commands } = await handOffRun(admin, crew.members, { ...plan, waiters }, contestant.sends)
    const cpuMs = (await process.cpuMs()) - before
    costs.push({ commands: commands.drain.sent / served.length, cpu: (cpuMs / served.length) * 1_000 })
  }
  return costs
}

async function pairCosts({ server, admin }: Stage, contestant: Contestant, forMs: number) {
  await using crew = await startTeam(1, contestant, server.port)
  const [process] = crew.members
  if (!process) throw new Error('There is nobody to measure with')
  await warmUpPairs(process)
  const costs: { readonly cpu: number; readonly redisCpu: number }[] = []
  for (const inFlight of growthSizes) {
    await warmUpPairsAt(process, inFlight)
    const before = await redisCpuMs(admin)
    const { pairs, cpuMs } = await process.loop({ inFlight, forMs })
    const redisMs = (await redisCpuMs(admin)) - before
    costs.push({ cpu: (cpuMs / pairs) * 1_000, redisCpu: (redisMs / pairs) * 1_000 })
  }
  return costs
}
