import { connectRedisAdmin, type RedisAdmin, type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elapse, eventually } from '../support/scale.ts'
import { bridgeProgram } from './contestants/bridges.ts'
import { rawIoredis } from './contestants/raw-ioredis.ts'
import { type BridgeProcess, type ProcessUse, startBridgeProcess } from './crew/bridge-process.ts'
import { type Crew, startCrew } from './crew/crew.ts'
import { readCommands } from './measure/commands.ts'
import { allWoken, holdKeys, keysOf, leaveAll, openWaiters, type Places } from './scenarios/bridge-run.ts'

/*
 * What a bridge may cost Redis, and what it may leave behind, as counts: unlike a bench, these hold on a machine of any
 * speed. The bridge is the program itself, and its waiters are in other processes. The bridges run one after another,
 * in the order given here.
 */

describe.each(['poll', 'stream'] as const)('a thousand who wait for a key each, by %s', (kind) => {
  const plan = { kind, waiters: 1_000, keys: 1_000 }
  /** Lets the process compile what it needs, so that only waiters count. */
  const warmUp = { kind, waiters: 100, keys: 100 }
  /** After that a key that nobody waits for is forgotten; see `watched-keys.ts`. */
  const lingerMs = 5_000

  let server: RedisServer
  let admin: RedisAdmin
  let crew: Crew
  let bridge: BridgeProcess
  let places: Places
  let clientsWithoutBridge: number
  let scriptsBefore: number
  let checksBefore: number
  let filesBefore: number
  let useBefore: ProcessUse

  const scripts = async (): Promise<number> => {
    const counts = await readCommands(admin)
    return (counts.get('evalsha') ?? 0) + (counts.get('eval') ?? 0)
  }
  const checks = (): Promise<number> => bridge.metric('checks_total')
  const clients = async (): Promise<readonly string[]> =>
    String(await admin.command('CLIENT', 'LIST'))
      .trim()
      .split('\n')
  const files = (): Promise<number> => bridge.metric('process_open_fds')

  beforeAll(async () => {
    server = await startRedis()
    admin = await connectRedisAdmin({ port: server.port })
    crew = await startCrew(2, rawIoredis, server.port)
    clientsWithoutBridge = (await clients()).length
    bridge = await startBridgeProcess(bridgeProgram, server.port)
    await holdKeys(admin, plan)
    await openWaiters(bridge, crew, warmUp)
    await leaveAll(bridge, crew, kind)
    await elapse(lingerMs + 500)
    filesBefore = await files()
    useBefore = await bridge.use({ collect: 'last-resort' })
    scriptsBefore = await scripts()
    checksBefore = await checks()
    places = await openWaiters(bridge, crew, plan)
    await eventually(async () => (await checks()) >= checksBefore + plan.keys)
  }, 60_000)
  afterAll(async () => {
    await bridge[Symbol.asyncDispose]()
    await crew[Symbol.asyncDispose]()
    await admin.close()
    await server.stop()
  })

  test('make the bridge check once for each, and ask about several at once', async () => {
    expect((await checks()) - checksBefore).toBe(plan.keys)
    expect((await scripts()) - scriptsBefore).toBeLessThan(plan.keys)
  })

  test('cost Redis two connections, of which one listens, by one pattern', async () => {
    const all = await clients()
    expect(all.length - clientsWithoutBridge).toBe(2)
    expect(all.filter((line) => !/ sub=0 psub=0 /.test(line))).toEqual([expect.stringContaining(' sub=0 psub=1 ')])
  })

  test('cost no script call while the holders stay, however long', async () => {
    const before = await scripts()
    await elapse(3_000)
    expect(await scripts()).toBe(before)
  })

  test('are woken by the release of their key and by no other', async () => {
    const before = await checks()
    const keys = keysOf(plan).slice(0, 100)
    await crew.members[0]?.releaseEach({ keys, everyMs: 1 })
    const woken = await allWoken(crew, places, keys)
    expect(woken.map(({ key }) => key).sort()).toEqual([...keys].sort())
    // Streams stay open, so the bridge checks who has the lock now: once, after the woken waiter has had time to take
    // it. A poll that timed out at that moment asks again, for a key whose holder is no longer known.
    const checksAtMost = kind === 'stream' ? keys.length : keys.length / 10
    await elapse(1_000)
    expect((await checks()) - before).toBeLessThanOrEqual(checksAtMost)
  })

  test('leave no connection, no subscription, no timer’s check and no memory behind', async () => {
    await leaveAll(bridge, crew, kind)
    const before = await scripts()
    await expect.poll(files).toBeLessThanOrEqual(filesBefore)
    await elapse(lingerMs + 500)
    expect(await scripts()).toBe(before)
    expect((await clients()).length - clientsWithoutBridge).toBe(2)
    // A waiter takes 15 kB of heap; what the process compiles as it runs is no more than a few hundred in all.
    expect((await bridge.use({ collect: 'last-resort' })).heap - useBefore.heap).toBeLessThan(1_000_000)
  })
})
