import type { Client, Contestant } from '../contestants/contestant.ts'
import { uncontended as contestants } from '../contestants/index.ts'
import { roomyYoung } from '../crew/load-jobs.ts'
import { startTeam } from '../crew/start-team.ts'
import { commandsBetween, readCommands } from '../measure/commands.ts'
import { redisCpuMs } from '../measure/redis-cpu.ts'
import { type BenchOptions, chosen } from '../options.ts'
import type { Figures, Sample, Scenario, Stage, Turn } from './scenario.ts'
import { warmUpPairs, warmUpPairsAt } from './warm-up.ts'

export const uncontended: Scenario = {
  name: 'uncontended',
  about: 'acquire and release of free locks, one or many at once in one process, on each client and store',
  contestants: Object.values(contestants).flat(),
  columns: [
    { name: 'p50', title: 'p50 ms', digits: 3, better: 'less', eachFloor: true },
    { name: 'p99', title: 'p99 ms', digits: 2, better: 'less', eachFloor: true },
    { name: 'rate', title: 'pairs / s', digits: 0, better: 'more', eachFloor: true },
    { name: 'cpu', title: 'client µs', digits: 0, better: 'less', eachFloor: true },
    { name: 'redisCpu', title: 'Redis µs', digits: 1, better: 'less', eachFloor: true },
    { name: 'commands', title: 'commands / pair', digits: 2, better: 'less', eachFloor: true },
    { name: 'inner', title: 'inner calls', digits: 2 },
    { name: 'allocated', title: 'kB allocated', digits: 1, better: 'less', eachFloor: true },
  ],
  settings: (options) =>
    Object.entries(contestants).flatMap(([client, all]) => {
      const turns = chosen(all, options).map((contestant) => turn(client as Client, contestant, options))
      return turns.length > 0 ? [turns] : []
    }),
}

export const uncontendedTable = (client: Client, inFlight: number): string => `${client}, ${inFlight} in flight`

/**
 * A series is long, because what it takes itself is counted with the locks. But its allocations have to fit into the young
 * generation, even at 50 kB per `withLock`.
 */
const allocations = { count: 1_600, warmUp: 16_000 }
/** Beyond that a lock allocates no less: the cost of a socket read and write is already shared. */
const mostInFlightCounted = 16
/** A pair over HTTP takes ten times as long. */
const allocationsOverHttp = { count: 320, warmUp: 3_200 }

const turn = (client: Client, contestant: Contestant, { inFlight, loopMs }: BenchOptions): Turn => ({
  name: contestant.name,
  async play(stage) {
    await using crew = await startTeam(1, contestant, stage.server.port)
    const [process] = crew.members
    if (!process) throw new Error('There is nobody to measure with')
    const samples: Sample[] = []
    await warmUpPairs(process)
    for (const loops of inFlight) {
      await warmUpPairsAt(process, loops)
      const before = await used(stage)
      const { pairs, p50, p99, cpuMs } = await process.loop({ inFlight: loops, forMs: loopMs })
      const after = await used(stage)
      const { sent, inner } = commandsBetween(before.commands, after.commands, contestant.sends)
      const figures = {
        p50,
        p99,
        rate: pairs / (loopMs / 1_000),
        cpu: (cpuMs / pairs) * 1_000,
        ...(client !== 'memory' && {
          redisCpu: ((after.cpuMs - before.cpuMs) / pairs) * 1_000,
          commands: sent / pairs,
          inner: inner / pairs,
        }),
        ...(loops <= mostInFlightCounted && (await allocated(stage, contestant, loops))),
      }
      const table = uncontendedTable(client, loops)
      samples.push({ table, row: contestant.name, role: contestant.role, figures })
    }
    return samples
  },
})

const used = async ({ admin }: Stage) => ({ commands: await readCommands(admin), cpuMs: await redisCpuMs(admin) })

/** In a separate process, whose memory is set up for counting. */
async function allocated({ server }: Stage, contestant: Contestant, inFlight: number): Promise<Figures> {
  await using crew = await startTeam(1, contestant, server.port, roomyYoung)
  const counts = contestant.client === 'http' ? allocationsOverHttp : allocations
  const bytes = await crew.members[0]?.allocations({ inFlight, ...counts })
  return { allocated: (bytes ?? Number.NaN) / 1_000 }
}
