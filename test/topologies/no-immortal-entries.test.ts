import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Lease } from '@leasehold/core'
import { fifo } from '@leasehold/core/queue'
import { semaphore } from '@leasehold/core/semaphore'
import { seededRandom } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { elapse, eventually, ms, rounds, soak } from '../support/scale.ts'
import { startCrew } from './crew.ts'
import { entriesOf } from './entries.ts'
import { openProcess, type Process } from './process.ts'
import { type Network, runTopologies, startNetwork } from './running.ts'
import { type Kind, topologies } from './topology.ts'

/*
 * T-39 where there are several servers: clients are killed at random moments, and links are cut after a random byte,
 * five hundred times in all, while every kind of lock is in use. `npm test` does so fifty times, on the cluster.
 */

const places = soak ? topologies : topologies.slice(0, 1)
const running = runTopologies(places)
const kills = rounds(100, 2)
const cuts = rounds(400, 48)

it.for(places)(
  'T-39: on $name, what is interrupted leaves only entries that expire, each in the slot of its lock',
  // The soak starts a hundred processes for each.
  { timeout: 1_200_000 },
  async (kind, { onTestFinished }) => {
    const { random } = seededRandom()
    const network = await startNetwork(kind, running.of(kind))
    onTestFinished(() => network.stop())
    const processes = kind.clients.map((client) => openProcess(network.connect(client), {}, onTestFinished))
    const tag = `t39 ${kind.name}`
    const crew = startCrew(
      processes.map(({ locks }) => locks),
      tag,
      { ttlMs: ms(10_000, 5_000), pauseMs: soak ? 20 : 100 },
    )
    await crew.turns(1)
    await Promise.all([killAtRandomMoments(kind, random), cutAfterRandomBytes(network, random)])
    await crew.turns(1)

    const letGo = await holdSome(processes, tag)
    const present = await entriesOf(running.of(kind))
    await (await letGo()).release()
    const { turns, faults } = await crew.stop()
    console.log(`turns on ${kind.name}: ${JSON.stringify(turns)}; without an answer: ${faults.length}`)
    expect(faults.filter((fault) => fault.includes('at work at once'))).toEqual([])
    const left = await entriesOf(running.of(kind))
    console.log(`entries on ${kind.name}: ${JSON.stringify(present.records)}, then ${JSON.stringify(left.records)}`)
    expect([...present.faults, ...left.faults]).toEqual([])
    const records = ['lock', 'fence', 'queue', 'waiters', 'inboxes', 'state', 'record', 'entries', 'room']
    expect(Object.keys(present.records)).toEqual(expect.arrayContaining(records))
  },
)

/**
 * Holds a lock and a permit, and waits for the lock, so that entries are there that otherwise come and go. Returns a
 * function that gives them back, and resolves with the lease that was waited for.
 */
async function holdSome([one, other]: readonly Process[], tag: string): Promise<() => Promise<Lease>> {
  const [key, ttl, wait] = [`{${tag}}held`, '5m', '1m'] as const
  const { locks } = one as Process
  const { locks: others, events } = other as Process
  const held = await locks.acquire(key, { ttl, wait, queue: fifo() })
  const permit = await semaphore(locks, `{${tag}}pool`, { permits: 2 }).acquire({ ttl, wait })
  const waiting = others.acquire(key, { ttl, wait, queue: fifo() })
  await eventually(() => events.some((event) => event.type === 'contended' && event.key === key))
  return async () => {
    await Promise.all([permit.release(), held.release()])
    return waiting
  }
}

it('T-39: an entry that does not expire, or lies in another slot than its lock, would be found', async () => {
  const [cluster] = topologies as [Kind]
  const { primaryOf } = running.of(cluster)
  const [forever, astray] = ['{lock:forever}:fence', '{elsewhere}:lock:astray:state']
  await (await primaryOf(forever)).command('SET', forever, 'any')
  await (await primaryOf(astray)).command('SET', astray, 'any', 'PX', 60_000)
  const { faults } = await entriesOf(running.of(cluster))
  // Each is on a replica, too.
  expect(new Set(faults)).toEqual(new Set([`${forever} never expires`, `${astray} is not in the slot of lock:astray`]))
})

/** Kills clients that are at work, two at a time on the same keys, of each library in turn. */
async function killAtRandomMoments(kind: Kind, random: () => number): Promise<void> {
  const worker = new URL('crew-worker.ts', import.meta.url)
  const ports = running.of(kind).given.map(({ port }) => String(port))
  for (let kill = 0; kill < kills; kill += 2) {
    const pair = [kill, kill + 1].map((at) =>
      fork(worker, [kind.name, kind.clients[at % kind.clients.length]?.name ?? '', `t39 killed ${kill}`, ...ports], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    )
    await Promise.all(pair.map(atWork))
    await elapse(random() * 60)
    const exits = pair.map((child) => once(child, 'exit'))
    for (const child of pair) child.kill('SIGKILL')
    await Promise.all(exits)
  }
}

/** Resolves when a child says that it is at work; rejects if it ends first. */
const atWork = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`A worker ended with ${code} before it was at work`)))
  })

/** Cuts as many links as a case asks for. A client that lost its link makes another one. */
async function cutAfterRandomBytes({ proxies }: Network, random: () => number): Promise<void> {
  const accepted = (): number => proxies.reduce((sum, proxy) => sum + proxy.accepted, 0)
  const atStart = accepted()
  while (accepted() - atStart < cuts) {
    proxies[Math.floor(random() * proxies.length)]?.cutAfter(1 + Math.floor(random() * 700))
    await elapse(random() * 60)
  }
}
