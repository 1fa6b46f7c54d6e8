import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createLocker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { seededRandom, startTcpProxy } from '@leasehold/testkit'
import { startRedisCluster } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, rounds } from '../support/scale.ts'

/*
 * T-39: no lock entry without an expiry, ever. Clients are killed at random moments and connections are cut after a
 * random byte; afterwards every entry has an expiry, is in its lock's slot, and is gone when it has expired.
 */

const worker = new URL('../support/load-worker.ts', import.meta.url)
type Command = (...args: readonly (string | number)[]) => Promise<unknown>

async function everyEntryExpires(nodes: readonly Command[]): Promise<number> {
  let entries = 0
  for (const command of nodes) {
    for (const key of (await command('KEYS', '*')) as string[]) {
      entries++
      // -2 means that it has expired since it was listed.
      expect(Number(await command('PTTL', key)), key).not.toBe(-1)
    }
  }
  return entries
}

async function killAtRandomMoments(args: readonly string[], kills: number, random: () => number): Promise<void> {
  for (let kill = 0; kill < kills; kill += 2) {
    const pair = [0, 1].map(() => fork(worker, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }))
    await Promise.all(pair.map((child) => once(child, 'message')))
    await elapse(random() * 60)
    const exits = pair.map((child) => once(child, 'exit'))
    for (const child of pair) child.kill('SIGKILL')
    await Promise.all(exits)
  }
}

it.concurrent('T-39: clients killed at random moments leave only entries that expire', async () => {
  await using arena = await redisArena()
  const { random } = seededRandom()
  await killAtRandomMoments([arena.prefix, String(arena.server.port)], rounds(100, 8), random)
  expect(await everyEntryExpires([arena.command])).toBeGreaterThan(0)
  await eventually(async () => ((await arena.command('DBSIZE')) as number) === 0)
}, 300_000)

it.concurrent('T-39: connections cut after a random byte leave only entries that expire', async () => {
  await using arena = await redisArena()
  await using proxy = await startTcpProxy({ port: arena.server.port })
  const { random } = seededRandom()
  const connection = quiet(new Redis({ port: proxy.port, retryStrategy: () => 1 }))
  const locks = createLocker({ store: ioredisStore(connection, { prefix: arena.prefix, fenceMemory: '2s' }) })
  for (let cut = 0; cut < rounds(400, 60); cut++) {
    proxy.cutAfter(1 + Math.floor(random() * 700))
    const options = { ttl: 600, wait: 400 }
    await locks.withLock(`item-${cut % 7}`, options, (lease) => lease.renew({ ttl: 800 })).catch(() => undefined)
  }
  expect(await everyEntryExpires([arena.command])).toBeGreaterThan(0)
  await locks.close({ grace: 0 })
  connection.disconnect()
  await eventually(async () => ((await arena.command('DBSIZE')) as number) === 0)
}, 300_000)

it.concurrent('T-39: on a cluster too, and each record lies in the slot of its lock', async () => {
  await using cluster = await startRedisCluster({ nodes: 3 })
  const { random } = seededRandom()
  const ports = cluster.nodes.map(({ port }) => String(port))
  const nodes: Command[] = cluster.nodes.map(
    (node) =>
      (...args) =>
        node.command(...args),
  )
  await killAtRandomMoments(['lock:', ...ports], rounds(20, 4), random)
  expect(await everyEntryExpires(nodes)).toBeGreaterThan(0)
  const [first] = nodes
  for (let item = 0; item < 12; item++) {
    const slot = await first?.('CLUSTER', 'KEYSLOT', `lock:item-${item}`)
    expect(await first?.('CLUSTER', 'KEYSLOT', `{lock:item-${item}}:fence`)).toBe(slot)
  }
  await eventually(async () => {
    const sizes = await Promise.all(nodes.map((command) => command('DBSIZE')))
    return sizes.every((size) => size === 0)
  })
}, 300_000)
