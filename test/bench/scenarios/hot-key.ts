import type { Contestant } from '../contestants/contestant.ts'
import { hotKey as contestants } from '../contestants/index.ts'
import { startTeam } from '../crew/start-team.ts'
import { commandsBetween, readCommands } from '../measure/commands.ts'
import { sum } from '../measure/statistics.ts'
import { type BenchOptions, chosen } from '../options.ts'
import { hotLoops, hotRun } from './hot-run.ts'
import type { Column, Sample, Scenario, Turn } from './scenario.ts'
import { warmUpHandOffs } from './warm-up.ts'

/** The figures of a key that many loops contend for. */
export const contendedColumns: readonly Column[] = [
  { name: 'rate', title: 'acquired / s', digits: 0, better: 'more' },
  { name: 'longest', title: 'longest wait ms', digits: 0, better: 'less' },
  { name: 'commands', title: 'commands each', digits: 2, better: 'less' },
  { name: 'cpu', title: 'client µs each', digits: 0, better: 'less' },
  { name: 'starved', title: 'never served', digits: 0 },
  { name: 'failed', title: 'failed', digits: 0 },
]

export const hotKey: Scenario = {
  name: 'hotkey',
  about: `one key that ${hotLoops} loops want and give back at once, in 1 or more processes`,
  contestants,
  columns: contendedColumns,
  settings: (options) =>
    options.hotProcesses.map((processes) =>
      chosen(contestants, options)
        .filter(({ client }) => client !== 'memory' || processes === 1)
        .map((contestant) => contended(contestant, processes, options)),
    ),
}

export const hotKeyTable = (processes: number): string => `${processes} process${processes === 1 ? '' : 'es'}`

/** All loops contend for the same key, and release it at once. */
export const contended = (contestant: Contestant, processes: number, { loopMs }: BenchOptions): Turn => ({
  name: `${contestant.name}, ${processes} processes`,
  async play({ server, admin }) {
    await using crew = await startTeam(processes, contestant, server.port)
    const cpuMs = async (): Promise<number> => sum(await Promise.all(crew.members.map((member) => member.cpuMs())))
    await warmUpHandOffs(crew.members)
    const [before, cpuBefore] = [await readCommands(admin), await cpuMs()]
    const runs = await hotRun(crew.members, loopMs)
    const used = (await cpuMs()) - cpuBefore
    const { sent } = commandsBetween(before, await readCommands(admin), contestant.sends)
    const acquired = sum(runs.map((each) => each.acquired))
    const figures = {
      rate: acquired / (loopMs / 1_000),
      longest: Math.max(...runs.map(({ longestMs }) => longestMs)),
      ...(contestant.client !== 'memory' && { commands: sent / acquired }),
      cpu: (used / acquired) * 1_000,
      starved: sum(runs.map((each) => each.starved)),
      failed: sum(runs.map((each) => each.failed)),
    }
    return [{ table: hotKeyTable(processes), row: contestant.name, role: contestant.role, figures } satisfies Sample]
  },
})
