import type { LockerOptions } from '@leasehold/core'
import { waitForReplicas } from '@leasehold/core/redis'
import { type RedisSentinel, type RedisServer, startRedisSentinel } from '@leasehold/testkit/redis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/scale.ts'
import { haveCaughtUp, stopWrites } from './caught-up.ts'
import { type Connection, sentinelClients as clients } from './clients.ts'
import { startCrew } from './crew.ts'
import { expectNothingLost, lossOf } from './loss.ts'
import { openProcess, type Process } from './process.ts'

/* A primary with two replicas and three Sentinels, including everything that takes time. */

let redis: RedisSentinel
beforeAll(async () => {
  redis = await startRedisSentinel()
})
afterEach(async () => {
  const primary = await redis.primary()
  for (const node of redis.nodes) node.resume()
  for (const node of redis.nodes) if (node !== primary) await redis.rejoined(node)
})
afterAll(() => redis.stop())

/**
 * How work may end while the primary is replaced: without an answer, or without the writes that a replica did not have.
 */
const endings = /(StoreUnavailableError|LeaseLostError): |A completion answered (unknown|gone|superseded)/

describe.each(clients)('under Sentinels, over $name,', (client) => {
  const connect = (waits = false): Connection => {
    const connection = client.toSentinel(redis.sentinels, redis.name)
    return waits ? waitForReplicas(connection, { replicas: 2, timeout: '500ms' }) : connection
  }
  const open = (options: Partial<LockerOptions> = {}, waits = false): Process => openProcess(connect(waits), options)

  it.each([
    ['every kind of work goes on after a crash that loses nothing, and two are never at work at once', false],
    ['with WAIT, every kind of work goes on after a crash, and two are never at work at once', true],
  ])('%s', async (_, waits) => {
    const processes = [open({}, waits), open({}, waits)]
    const crew = startCrew(
      processes.map(({ locks }) => locks),
      `crash-${client.name}-${waits}`,
    )
    await crew.turns(10)
    const primary = await redis.primary()
    if (!waits) {
      const replicas = await redis.replicas()
      await stopWrites(primary, replicas)
      expect(await haveCaughtUp(primary, replicas)).toBe(true)
    }
    await primary.kill()
    await redis.successorOf(primary)
    // One of the two replicas is left, and nobody confirms for the other.
    if (!waits) await crew.turns(10)
    await primary.restart()
    await redis.rejoined(primary)
    await crew.turns(10)
    const { turns, faults } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}; what ended otherwise: ${JSON.stringify(faults)}`)
    expectNothingLost(processes, faults)
  })

  it('every kind of work goes on after a crash that loses leases, and their holders are told', async () => {
    const [a, b] = [open({ ttl: '30s' }), open()]
    const crew = startCrew([a.locks, b.locks], `loss-${client.name}`)
    await crew.turns(10)
    const primary = await redis.primary()
    const replicas = await redis.replicas()
    await Promise.all(replicas.map((replica) => replica.stopReplication()))
    const lease = await a.locks.acquire(`loss-held-${client.name}`)
    await crew.turns(1)
    expect(await haveCaughtUp(primary, replicas)).toBe(false)
    await primary.kill()
    // They may replicate from their new primary.
    await Promise.all(replicas.map((replica) => replica.resumeReplication()))
    await redis.successorOf(primary)
    expect(await lossOf(lease)).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    // Where nothing is lost, this claims so.
    expect(() => expectNothingLost([a], [])).toThrow()
    await crew.turns(10)
    await primary.restart()
    await redis.rejoined(primary)
    const { turns, faults } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}; what ended otherwise: ${JSON.stringify(faults)}`)
    // A lock that no replica had is granted again while its first holder is still at work.
    for (const fault of faults) if (!fault.includes('at work at once')) expect(fault).toMatch(endings)
  })

  it('every kind of work goes on after a failover on demand, though the old primary took writes to its end', async () => {
    const crew = startCrew([open().locks, open().locks], `demand-${client.name}`)
    await crew.turns(10)
    const primary = await redis.primary()
    await redis.failOver()
    await crew.turns(10)
    await redis.rejoined(primary)
    const { turns, faults } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}; what ended otherwise: ${JSON.stringify(faults)}`)
    // A lock that the replica did not have is granted again while its first holder is still at work.
    for (const fault of faults) if (!fault.includes('at work at once')) expect(fault).toMatch(endings)
  })

  it('with WAIT, every kind of work goes on through a failover on demand, which loses no lease', async () => {
    const [a, b] = [open({}, true), open({}, true)]
    const tag = `demand-waits-${client.name}`
    const held = await a.locks.acquire(`{${tag}}held`, { ttl: '30s' })
    const crew = startCrew([a.locks, b.locks], tag)
    await crew.turns(10)
    const primary = await redis.primary()
    await redis.failOver()
    await redis.rejoined(primary)
    await crew.turns(10)
    const { turns, faults } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}; what ended otherwise: ${JSON.stringify(faults)}`)
    expectNothingLost([a, b], faults)
    await held.renew({ ttl: '31s' })
    expect(await held.release()).toBe('released')
  })

  it('leases outlive a primary that stands still, and it brings nothing back when it goes on', async () => {
    const [a, b] = [open({ ttl: '20s' }), open({ wait: '30s' })]
    const primary = await redis.primary()
    const kept = await a.locks.acquire('still')
    expect(await primary.replicatedTo(2)).toBe(2)
    const replicas = await redis.replicas()
    await Promise.all(replicas.map((replica) => replica.stopReplication()))
    const lost = await a.locks.acquire('forgotten')
    primary.pause()
    await Promise.all(replicas.map((replica) => replica.resumeReplication()))
    await redis.successorOf(primary)
    // Until the client gives up its connection, which its own options decide.
    await expect.poll(() => kept.renew({ ttl: '21s' }).then(() => 'renewed', String)).toBe('renewed')
    const second = await b.locks.acquire('forgotten')
    expect(second.fence).toBeGreaterThan(lost.fence)
    expect(await lossOf(lost)).toMatchObject({ reason: expect.stringMatching(/^(gone|superseded)$/) })
    primary.resume()
    await redis.rejoined(primary)
    await second.renew({ ttl: '21s' })
    const successor = await redis.primary()
    expect(await successor.replicatedTo(2)).toBe(2)
    expect(await primary.command('GET', 'lock:forgotten')).toBe(second.token)
    expect(await second.release()).toBe('released')
    expect(await kept.release()).toBe('released')
  })

  it('with WAIT, a primary that stands still brings back no grant that its replicas had not confirmed', async () => {
    const key = `unconfirmed-${client.name}`
    const [a, b] = [open({}, true), open({ wait: '30s' })]
    expect(await a.locks.isLocked(key)).toBe(false)
    const primary = await redis.primary()
    expect(await primary.replicatedTo(2)).toBe(2)
    const replicas = await redis.replicas()
    await Promise.all(replicas.map((replica) => replica.stopReplication()))
    const refusal = a.locks.acquire(key, { wait: 0, ttl: '30s' }).catch((error: unknown) => error)
    await eventually(async () => (await primary.command('EXISTS', `lock:${key}`)) === 1)
    primary.pause()
    await Promise.all(replicas.map((replica) => replica.resumeReplication()))
    const successor = await redis.successorOf(primary)
    expect(await refusal).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    const next = await b.locks.acquire(key)
    primary.resume()
    await redis.rejoined(primary)
    expect(await successor.command('GET', `lock:${key}`)).toBe(next.token)
    expect(await next.release()).toBe('released')
  })

  it('a client whose primary somebody has made a replica finds the next one, and keeps its lease', async () => {
    const { locks, events } = open({ ttl: '30s' })
    const lease = await locks.acquire('demoted')
    const primary = await redis.primary()
    expect(await primary.replicatedTo(2)).toBe(2)
    const [replica] = (await redis.replicas()) as [RedisServer]
    await primary.command('REPLICAOF', replica.host, replica.port)
    // Sentinels do not cut connections to a server that already follows the right one.
    await expect.poll(() => lease.renew({ ttl: '31s' }).then(() => 'renewed', String)).toBe('renewed')
    expect(events.filter(({ type }) => type === 'lost')).toEqual([])
    expect(await lease.release()).toBe('released')
  })

  it('with WAIT, a primary that dies right after a grant takes nothing with it', async () => {
    for (let round = 0; round < 3; round++) {
      const key = `waited-${client.name}-${round}`
      const { locks } = open({ ttl: '30s' }, true)
      const primary = await redis.primary()
      expect(await primary.replicatedTo(2)).toBe(2)
      const lease = await locks.acquire(key, { wait: '20s' })
      await primary.kill()
      const successor = await redis.successorOf(primary)
      expect(await successor.command('GET', `lock:${key}`)).toBe(lease.token)
      expect(await successor.command('EXISTS', `{lock:${key}}:fence`)).toBe(1)
      await primary.restart()
      await redis.rejoined(primary)
      await expect.poll(() => lease.renew({ ttl: '31s' }).then(() => 'renewed', String)).toBe('renewed')
      expect(await lease.release()).toBe('released')
    }
  })
})
