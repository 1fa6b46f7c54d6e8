import type { RedisAdmin } from '@leasehold/testkit/redis'
import type { Contestant } from '../contestants/contestant.ts'
import { renewing as contestants } from '../contestants/index.ts'
import { startTeam } from '../crew/start-team.ts'
import { commandsBetween, readCommands } from '../measure/commands.ts'
import { redisCpuMs } from '../measure/redis-cpu.ts'
import { chosen } from '../options.ts'
import type { Sample, Scenario, Turn } from './scenario.ts'

const ttlMs = 6_000
/** How often ours are renewed. The others renew less often, each at its own interval. */
const intervalMs = ttlMs / 3
/** The least common multiple of all intervals would be long; over two ttls each has renewed at least twice. */
const measuredMs = 2 * ttlMs

export const renewal: Scenario = {
  name: 'renewal',
  about: `locks of ${ttlMs / 1_000} s that one process holds and the library renews`,
  contestants,
  columns: [
    { name: 'commands', title: `commands / ${intervalMs / 1_000} s`, digits: 0, better: 'less' },
    { name: 'redisCpu', title: 'Redis ms / s', digits: 2, better: 'less' },
    { name: 'cpu', title: 'client ms / s', digits: 1, better: 'less' },
    { name: 'delay', title: 'loop delay p99 ms', digits: 1, better: 'less' },
    { name: 'held', title: 'still held', digits: 0 },
  ],
  settings: (options) =>
    options.leases.map((leases) => [
      idle(leases),
      ...chosen(contestants, options).map((contestant) => turn(contestant, leases)),
    ]),
}

export const renewalTable = (leases: number): string => `${leases} leases`

/** A process that holds nothing: the baseline of the server and the process. */
const idle = (leases: number): Turn => ({
  name: `idle, ${leases}`,
  async play(stage) {
    const [contestant] = contestants
    if (!contestant) throw new Error('There is nobody to measure with')
    const sample = await turnWith(contestant, leases, 0).play(stage)
    return sample.map(({ figures: { cpu = 0, redisCpu = 0, delay = 0 }, table }) => ({
      table,
      row: 'nothing held',
      role: 'floor' as const,
      figures: { redisCpu, cpu, delay },
    }))
  },
})

const turn = (contestant: Contestant, leases: number): Turn => turnWith(contestant, leases, leases)

const turnWith = (contestant: Contestant, leases: number, count: number): Turn => ({
  name: `${contestant.name}, ${leases} leases`,
  async play({ server, admin }) {
    await using crew = await startTeam(1, contestant, server.port)
    const [process] = crew.members
    if (!process) throw new Error('There is nobody to measure with')
    if (count > 0) await process.keepAll({ count, ttlMs })
    // Leases taken together are renewed together at first, and later at separate times.
    await process.rest({ forMs: intervalMs })
    const before = { commands: await readCommands(admin), cpuMs: await redisCpuMs(admin) }
    const { ms, cpuMs, delayP99 } = await process.rest({ forMs: measuredMs })
    const { sent } = commandsBetween(before.commands, await readCommands(admin), contestant.sends)
    const redisMs = (await redisCpuMs(admin)) - before.cpuMs
    const figures = {
      commands: sent / (ms / intervalMs),
      redisCpu: redisMs / (ms / 1_000),
      cpu: cpuMs / (ms / 1_000),
      delay: delayP99,
      held: await heldLocks(admin),
    }
    return [{ table: renewalTable(leases), row: contestant.name, role: contestant.role, figures } satisfies Sample]
  },
})

/** The number of locks on the server; a record beside a lock does not count. */
const heldLocks = async (admin: RedisAdmin): Promise<number> =>
  Number(
    await admin.command(
      'EVAL',
      `local held = 0
       for _, key in ipairs(redis.call('KEYS', '*')) do
         if string.sub(key, 1, 1) ~= '{' then held = held + 1 end
       end
       return held`,
      0,
    ),
  )
