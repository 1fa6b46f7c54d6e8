import type { LockerOptions } from '@leasehold/core'
import { guardedSet } from '@leasehold/core/fencing'
import { waitForReplicas } from '@leasehold/core/redis'
import { semaphore } from '@leasehold/core/semaphore'
import { type RedisCluster, type RedisServer, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { elapse, eventually } from '../support/scale.ts'
import { haveCaughtUp, stopWrites } from './caught-up.ts'
import { type Connection, clients } from './clients.ts'
import { startCrew } from './crew.ts'
import { expectNothingLost, lossOf } from './loss.ts'
import { openProcess, type Process } from './process.ts'

/* A cluster of three primaries with a replica each, including everything that takes time. */

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: 1 })
})
afterEach(() => {
  for (const node of [...cluster.nodes, ...cluster.replicas]) node.resume()
})
afterAll(() => cluster.stop())

/**
 * How work may end while a node is replaced: without an answer, or without the writes that its replica did not have.
 */
const endings = /(StoreUnavailableError|LeaseLostError): |A completion answered (unknown|gone|superseded)/

/** Resolves when a replaced node is back, as a replica of the one that replaced it. */
const rejoined = (node: RedisServer, primary: RedisServer): Promise<void> =>
  eventually(async () => {
    const [role, , port, state] = (await node.command('ROLE')) as unknown[]
    return role === 'slave' && state === 'connected' && port === primary.port
  })

describe.each(clients)('on a cluster, over $name,', (client) => {
  const connect = (waits = false): Connection => {
    const connection = client.toCluster(cluster.nodes)
    return waits ? waitForReplicas(connection, { replicas: 1, timeout: '500ms' }) : connection
  }
  const open = (options: Partial<LockerOptions> = {}, waits = false): Process => openProcess(connect(waits), options)

  it.each([
    ['every kind of work goes on after a crash that loses nothing, and two are never at work at once', false],
    ['with WAIT, every kind of work goes on after a crash, and two are never at work at once', true],
  ])('%s', async (_, waits) => {
    const processes = [open({}, waits), open({}, waits)]
    const tag = `crash-${client.name}-${waits}`
    const crew = startCrew(
      processes.map(({ locks }) => locks),
      tag,
    )
    await crew.turns(10)
    const primary = await cluster.nodeOf(`{${tag}}`)
    const replicas = await cluster.replicasOf(primary)
    if (!waits) {
      await stopWrites(primary, replicas)
      expect(await haveCaughtUp(primary, replicas)).toBe(true)
    }
    await primary.kill()
    const successor = await cluster.successorOf(primary, `{${tag}}`)
    // Nobody confirms what the successor is asked to write before it has a replica.
    if (!waits) await crew.turns(10)
    await primary.restart()
    await rejoined(primary, successor)
    await crew.turns(10)
    const { turns, faults } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}; what ended otherwise: ${JSON.stringify(faults)}`)
    expectNothingLost(processes, faults)
  })

  it('every kind of work goes on after a crash that loses leases, and their holders are told', async () => {
    const [a, b] = [open({ ttl: '30s' }), open()]
    const tag = `loss-${client.name}`
    const crew = startCrew([a.locks, b.locks], tag)
    await crew.turns(10)
    const primary = await cluster.nodeOf(`{${tag}}`)
    const replicas = await cluster.replicasOf(primary)
    await Promise.all(replicas.map((replica) => replica.stopReplication()))
    const lease = await a.locks.acquire(`{${tag}}held`)
    await crew.turns(1)
    expect(await haveCaughtUp(primary, replicas)).toBe(false)
    await primary.kill()
    for (const replica of replicas) await replica.promote()
    const successor = await cluster.successorOf(primary, `{${tag}}`)
    expect(await lossOf(lease)).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    // Where nothing is lost, this claims so.
    expect(() => expectNothingLost([a], [])).toThrow()
    await crew.turns(10)
    await primary.restart()
    await rejoined(primary, successor)
    const { turns, faults } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}; what ended otherwise: ${JSON.stringify(faults)}`)
    // A lock that the replica did not have is granted again while its first holder is still at work.
    for (const fault of faults) if (!fault.includes('at work at once')) expect(fault).toMatch(endings)
  })

  it('with WAIT, every kind of work goes on through a failover on demand, which loses no lease', async () => {
    const tag = `demand-${client.name}`
    const [a, b] = [open({}, true), open({}, true)]
    const held = await a.locks.acquire(`{${tag}}held`, { ttl: '30s' })
    const crew = startCrew([a.locks, b.locks], tag)
    await crew.turns(10)
    const primary = await cluster.nodeOf(`{${tag}}`)
    await rejoined(primary, await cluster.failOver(primary))
    await crew.turns(10)
    const { turns, faults } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}; what ended otherwise: ${JSON.stringify(faults)}`)
    expectNothingLost([a, b], faults)
    await held.renew({ ttl: '31s' })
    expect(await held.release()).toBe('released')
  })

  it.each([
    ['every kind of work goes on while its slot is moved ten times, half by half', false],
    ['with WAIT, every kind of work goes on while its slot is moved ten times, half by half', true],
  ])('%s', async (_, waits) => {
    const tag = `moving-${client.name}-${waits}`
    const [a, b] = [open({}, waits), open({}, waits)]
    const crew = startCrew([a.locks, b.locks], tag)
    await crew.turns(3)
    for (let round = 0; round < 10; round++) {
      const move = await cluster.slotMove(`{${tag}}`)
      await move.begin()
      const entries = (await move.source.command('CLUSTER', 'GETKEYSINSLOT', move.slot, 1_000)) as string[]
      await move.carry(...entries.slice(0, Math.ceil(entries.length / 2)))
      await elapse(300)
      await move.carry()
      await move.end()
      await crew.turns(3)
    }
    const { turns, faults } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}`)
    expect(faults).toEqual([])
    for (const { events } of [a, b]) expect(events.filter(({ type }) => type === 'lost')).toEqual([])
  })

  it('hundreds of leases on all nodes outlive the death of one, and a waiter for one of its locks gets it', async () => {
    const [a, b] = [open({ ttl: '30s' }), open({ wait: '30s', recheck: '20s' })]
    const keys = Array.from({ length: 300 }, (_, at) => `many-${client.name}-${at}`)
    const leases = await Promise.all(keys.map((key) => a.locks.acquire(key)))
    const [first] = keys as [string]
    const waiting = b.locks.acquire(first)
    const primary = await cluster.nodeOf(`lock:${first}`)
    await expect.poll(() => b.events.map(({ type }) => type)).toContain('contended')
    expect(await primary.replicatedTo(1)).toBe(1)
    await primary.kill()
    const successor = await cluster.successorOf(primary, `lock:${first}`)
    // Each has been renewed since.
    await elapse(12_000)
    expect(a.events.filter(({ type }) => type === 'lost')).toEqual([])
    expect(new Set(await Promise.all(leases.map((lease) => lease.release())))).toEqual(new Set(['released']))
    expect(await (await waiting).release()).toBe('released')
    await primary.restart()
    await rejoined(primary, successor)
  })

  it('leases outlive a primary that stands still, and it brings nothing back when it goes on', async () => {
    const [a, b] = [open({ ttl: '30s' }), open({ wait: '30s' })]
    const [kept, lost] = [`{still-${client.name}}kept`, `{still-${client.name}}lost`]
    const primary = await cluster.nodeOf(`lock:${kept}`)
    const held = await a.locks.acquire(kept)
    expect(await primary.replicatedTo(1)).toBe(1)
    const [replica] = (await cluster.replicasOf(primary)) as [RedisServer]
    await replica.stopReplication()
    const forgotten = await a.locks.acquire(lost)
    primary.pause()
    await replica.resumeReplication()
    expect(await cluster.successorOf(primary, `lock:${kept}`)).toBe(replica)
    const second = await b.locks.acquire(lost)
    expect(second.fence).toBeGreaterThan(forgotten.fence)
    await expect.poll(() => held.renew({ ttl: '31s' }).then(() => 'renewed', String)).toBe('renewed')
    expect(await lossOf(forgotten)).toMatchObject({ reason: expect.stringMatching(/^(gone|superseded)$/) })
    primary.resume()
    await rejoined(primary, replica)
    expect(await replica.command('GET', `lock:${lost}`)).toBe(second.token)
    expect(await second.release()).toBe('released')
    expect(await held.release()).toBe('released')
  })

  it('with WAIT, a primary that stands still brings back no grant that its replica had not confirmed', async () => {
    const key = `unconfirmed-${client.name}`
    const [a, b] = [open({}, true), open({ wait: '30s' })]
    expect(await a.locks.isLocked(key)).toBe(false)
    const primary = await cluster.nodeOf(`lock:${key}`)
    expect(await primary.replicatedTo(1)).toBe(1)
    const [replica] = (await cluster.replicasOf(primary)) as [RedisServer]
    await replica.stopReplication()
    const refusal = a.locks.acquire(key, { wait: 0, ttl: '30s' }).catch((error: unknown) => error)
    await eventually(async () => (await primary.command('EXISTS', `lock:${key}`)) === 1)
    primary.pause()
    await replica.resumeReplication()
    expect(await cluster.successorOf(primary, `lock:${key}`)).toBe(replica)
    expect(await refusal).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    const next = await b.locks.acquire(key)
    primary.resume()
    await rejoined(primary, replica)
    expect(await replica.command('GET', `lock:${key}`)).toBe(next.token)
    expect(await next.release()).toBe('released')
  })

  it('with WAIT, a primary that dies right after a grant takes nothing with it, also where the slot was moved before', async () => {
    const key = `waited-${client.name}`
    const { locks } = open({ ttl: '30s' }, true)
    const first = await locks.acquire(key, { wait: '20s' })
    await first.release()
    // The client does not know yet. A redirected request must be confirmed where it was carried out.
    const move = await cluster.slotMove(`lock:${key}`)
    await move.whole()
    const primary = await cluster.nodeOf(`lock:${key}`)
    const [replica] = (await cluster.replicasOf(primary)) as [RedisServer]
    expect(await primary.replicatedTo(1)).toBe(1)
    const lease = await locks.acquire(key, { wait: '20s' })
    expect(lease.fence).toBeGreaterThan(first.fence)
    await primary.kill()
    await replica.promote()
    await cluster.successorOf(primary, `lock:${key}`)
    expect(await replica.command('GET', `lock:${key}`)).toBe(lease.token)
    await expect.poll(() => lease.renew({ ttl: '31s' }).then(() => 'renewed', String)).toMatch('NOREPLICAS')
    await primary.restart()
    await rejoined(primary, replica)
    await expect.poll(() => lease.renew({ ttl: '31s' }).then(() => 'renewed', String)).toBe('renewed')
    expect(await lease.release()).toBe('released')
  })

  it('with WAIT, permits are given back, and are not lost, where their slot was moved before', async () => {
    const key = `moved-pool-${client.name}`
    const pools = [open({}, true), open({}, true)].map(({ locks }) => semaphore(locks, key, { permits: 20 }))
    const taken = pools.flatMap((pool) => Array.from({ length: 10 }, () => pool.acquire({ ttl: '5m', wait: '20s' })))
    const permits = await Promise.all(taken)
    // The clients do not know yet, and each release is carried out twice.
    await (await cluster.slotMove(`lock:${key}`)).whole()
    expect(new Set(await Promise.all(permits.map((permit) => permit.release())))).toEqual(new Set(['released']))
  })

  it.each([
    [
      'without WAIT, a fence that is lost with its record may be followed by a lower one, which the guard refuses',
      false,
    ],
    ['with WAIT, the next fence is higher whatever the clocks say', true],
  ])('%s', async (_, waits) => {
    const key = `fenced-${client.name}-${waits}`
    const a = open({ ttl: '30s' }, waits)
    const b = open({ wait: '20s' })
    const primary = await cluster.nodeOf(`lock:${key}`)
    const [replica] = (await cluster.replicasOf(primary)) as [RedisServer]
    expect(await primary.replicatedTo(1)).toBe(1)
    const data = await keyElsewhere(primary, `fenced-data-${client.name}-${waits}`)
    if (!waits) await replica.stopReplication()
    // The fence is ahead of the successor's clock, as if that clock were behind.
    const ahead = (Date.now() + 3_600_000) * 1_000
    await primary.command('SET', `{lock:${key}}:fence`, `${'0'.repeat(32)}.${ahead}`, 'PX', 60_000)
    const first = await a.locks.acquire(key, { wait: '20s' })
    expect(first.fence).toBeGreaterThan(ahead)
    expect(await guardedSet(a.transport, data, 'first', { fence: first.fence })).toEqual({ stored: true })
    await primary.kill()
    await replica.promote()
    await cluster.successorOf(primary, `lock:${key}`)
    if (waits) await b.locks.revoke(key)
    const second = await b.locks.acquire(key)
    const written = await guardedSet(b.transport, data, 'second', { fence: second.fence })
    expect(second.fence > first.fence).toBe(waits)
    expect(written).toEqual(waits ? { stored: true } : { stored: false, highest: first.fence })
    await second.release()
    await primary.restart()
    await rejoined(primary, replica)
  })
})

async function keyElsewhere(node: RedisServer, name: string): Promise<string> {
  for (let at = 0; ; at++) if ((await cluster.nodeOf(`${name}-${at}`)) !== node) return `${name}-${at}`
}
