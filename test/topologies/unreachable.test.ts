import { createServer } from 'node:net'
import type { Duration, Lease } from '@leasehold/core'
import { afterAll, beforeAll, describe, expect, it, type onTestFinished } from 'vitest'
import { heapBytes } from '../support/heap.ts'
import { elapse, ms, rounds, soak } from '../support/scale.ts'
import type { Address } from './clients.ts'
import { inTime } from './in-time.ts'
import { lossOf } from './loss.ts'
import { openProcess, type Process } from './process.ts'
import { type Network, runTopologies, startNetwork } from './running.ts'
import { type Kind, kinds, withClients } from './topology.ts'

/* T-37 where there are several servers: no call waits longer for them than its limit. */

const running = runTopologies()
const each = withClients(kinds)

const nowhere: Address = { host: '127.0.0.1', port: 1 }
let hole: Address
const silent = createServer(() => undefined)
beforeAll(async () => {
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  hole = { host: '127.0.0.1', port }
})
afterAll(() => silent.close())

/** The soak runs one at a time. */
const together = soak ? it : it.concurrent

/** How long a store is asked that does not answer, in milliseconds. */
const commandDeadlineMs = 2_000

/** Claims that a call ends in time with the error for a store that did not answer. */
const refused = async (call: Promise<unknown>, withinMs: number): Promise<void> =>
  inTime(expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' }), withinMs)

together.for(each)(
  'T-37: on $on, over $over, where nobody listens or nobody answers, each call ends in time and says so',
  async ({ kind, client }, { onTestFinished }) => {
    const lockers = [nowhere, hole].map((at) => openProcess(kind.connect(client, [at]), {}, onTestFinished).locks)
    const calls = lockers.flatMap((locks) => [
      refused(locks.acquire('k', { wait: '2s' }), 2_000),
      refused(locks.tryAcquire('k'), commandDeadlineMs),
      refused(locks.tryAcquire('k', { ttl: 300 }), 100),
      refused(locks.isLocked('k'), commandDeadlineMs),
      refused(locks.inspect('k'), commandDeadlineMs),
      refused(locks.revoke('k'), commandDeadlineMs),
    ])
    await Promise.all(calls)
  },
)

together('T-37: it would be noticed if a call took longer', async () => {
  await expect(inTime(elapse(6_000), 200)).rejects.toThrow('less than 700')
})

describe('where locks are held,', () => {
  interface Held {
    readonly opened: Process
    readonly released: Lease
    readonly renewed: Lease
    readonly left: Lease
  }
  const ways = ['refuse connections', 'fall silent'] as const
  const scenes = ways.flatMap((how) => each.map((one) => ({ how, ...one, title: `${how} ${one.on} ${one.over}` })))
  const held = new Map<string, Held>()
  const ends: (() => Promise<void>)[] = []

  async function take({ title, client }: (typeof scenes)[number], network: Network): Promise<void> {
    const opened = openProcess(network.connect(client), {}, (end) => ends.push(end))
    const acquire = (use: string, ttl: Duration): Promise<Lease> =>
      opened.locks.acquire(`t37 ${title} ${use}`, { ttl, wait: '30s' })
    const [released, renewed] = await Promise.all([acquire('released', '5m'), acquire('renewed', '5m')])
    held.set(title, { opened, released, renewed, left: await acquire('left', '6s') })
  }

  async function hold(how: (typeof ways)[number], kind: Kind): Promise<void> {
    const network = await startNetwork(kind, running.of(kind))
    ends.unshift(() => network.stop())
    await Promise.all(scenes.filter((one) => one.how === how && one.kind === kind).map((one) => take(one, network)))
    for (const proxy of network.proxies) {
      if (how === 'fall silent') proxy.blackHole()
      else {
        proxy.refuse()
        proxy.cut()
      }
    }
  }

  beforeAll(async () => {
    await Promise.all(ways.flatMap((how) => kinds.map((kind) => hold(how, kind))))
  })
  afterAll(async () => {
    for (const end of ends.toReversed()) await end()
  })

  together.for(scenes)(
    'T-37: when all servers $how, on $on, over $over, each call ends in time, and a lease that is not renewed is lost',
    async ({ title }) => {
      const { opened, released, renewed, left } = held.get(title) as Held
      const lost = lossOf(left)
      await Promise.all([
        inTime(released.release(), commandDeadlineMs).then((end) => expect(end).toBe('unknown')),
        refused(renewed.renew({ ttl: '6m' }), commandDeadlineMs),
        refused(opened.locks.isLocked(left.key), commandDeadlineMs),
        refused(opened.locks.acquire('another', { wait: '2s' }), 2_000),
      ])
      expect(await lost).toMatchObject({ code: 'LEASE_LOST', reason: 'unreachable' })
      renewed.assertValid()
    },
  )
})

// `npm test` makes a thousand calls in all; the soak, over each client, to each of the two that do not answer.
const groups = soak ? each.map((one) => [one]) : [each]
const callsEach = rounds(1_000, Math.ceil(500 / each.length))
const mostKb = 512

/** Makes the calls, and then again. Returns by how much the second time made the heap grow. */
async function grownKb(group: typeof each, keep: (error: unknown) => unknown, atEnd: typeof onTestFinished) {
  const lockers = group.flatMap(({ kind, client }) =>
    // Without the list of events.
    [nowhere, hole].map((at) => openProcess(kind.connect(client, [at]), { onEvent: () => undefined }, atEnd).locks),
  )
  const calls = (): Promise<unknown> =>
    Promise.all(
      lockers.flatMap((locks) =>
        Array.from({ length: callsEach }, (_, at) =>
          (at % 2 === 0 ? locks.acquire(`k${at}`, { wait: ms(2_000) }) : locks.isLocked(`k${at}`)).catch(keep),
        ),
      ),
    )
  await calls()
  const before = await heapBytes()
  await calls()
  const grown = ((await heapBytes()) - before) / 1_024
  const names = group.map(({ on, over }) => `${on}, over ${over}`).join('; ')
  console.log(`heap after ${lockers.length * callsEach} calls: ${grown.toFixed(0)} kB more (${names})`)
  return grown
}

it.for(groups)('T-37: a thousand calls that reach nothing leave nothing behind: group %$', async (group, context) => {
  expect(await grownKb(group, () => undefined, context.onTestFinished)).toBeLessThan(mostKb)
})

it.runIf(soak)('T-37: it would be noticed if each call left its error behind', async (context) => {
  const kept: unknown[] = []
  const [group] = groups as [typeof each]
  expect(await grownKb(group, (error) => kept.push(error), context.onTestFinished)).toBeGreaterThan(mostKb)
})
