import { callUntil, ManualClock } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import type { LeaseStore, RenewOutcome } from '../adapter/index.ts'
import { createLocker, type LockerEvent } from '../index.ts'
import { type MemoryStore, memoryStore } from '../memory/index.ts'

let clock: ManualClock
let behind: MemoryStore
let events: LockerEvent[]

beforeEach(() => {
  clock = new ManualClock()
  behind = memoryStore({ clock })
  events = []
})

const nodes = 3
const nodeOf = (key: string): number => Number(key) % nodes

/** A store of several nodes, some of which have fallen silent. When a call is over, it returns the answers it has. */
class Nodes implements LeaseStore {
  readonly commandDeadlineMs = 2_000
  readonly silent = new Set<number>()
  readonly batches: (readonly string[])[] = []
  readonly #named: boolean
  #inFlight = 0
  mostInFlight = 0

  /** @param named whether it tells its nodes apart */
  constructor(named: boolean) {
    this.#named = named
  }

  whenReady(): undefined {
    return undefined
  }

  nodeOf(key: string): string {
    return this.#named ? String(nodeOf(key)) : ''
  }

  acquire: LeaseStore['acquire'] = (requests, call) => behind.acquire(requests, call)
  release: LeaseStore['release'] = (requests, call) => behind.release(requests, call)
  checkHolders: LeaseStore['checkHolders'] = (requests, call) => behind.checkHolders(requests, call)
  inspect: LeaseStore['inspect'] = (key, call) => behind.inspect(key, call)
  revoke: LeaseStore['revoke'] = (key, call) => behind.revoke(key, call)

  renew: LeaseStore['renew'] = async (requests, call) => {
    this.batches.push(requests.map(({ key }) => key))
    this.#inFlight++
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight)
    const answers = new Map<string, RenewOutcome>()
    for (const request of requests) {
      const [outcome] = this.silent.has(nodeOf(request.key)) ? [] : await behind.renew([request], callUntil(unstopped))
      if (outcome) answers.set(request.key, outcome)
    }
    if (answers.size < requests.length) await aborted(call.signal)
    this.#inFlight--
    return requests.map(({ key }) => answers.get(key) ?? { type: 'unknown', executed: 'unknown' })
  }
}

const { signal: unstopped } = new AbortController()

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve())
  })

/** Holds many leases while a node is silent for two ttls. */
async function hold(store: Nodes, count: number, ttl: number): Promise<{ lost: number[]; unanswered: number[] }> {
  const locks = createLocker({ store, clock, ttl, onEvent: (event) => events.push(event) })
  await Promise.all(Array.from({ length: count }, (_, at) => locks.acquire(String(at))))
  await clock.advance(2 * ttl)
  store.batches.length = 0
  store.silent.add(0)
  await clock.advance(2 * ttl)
  return { lost: byNode('lost'), unanswered: byNode('renewal-unanswered') }
}

/** How many events of a type were about leases of each node. */
const byNode = (type: LockerEvent['type']): number[] =>
  Array.from(
    { length: nodes },
    (_, node) => events.filter((event) => event.type === type && 'key' in event && nodeOf(event.key) === node).length,
  )

describe('a node that falls silent', () => {
  it('costs the leases it keeps, and no other: neither a loss nor an unanswered renewal', async () => {
    const { lost, unanswered } = await hold(new Nodes(true), 3_000, 10_000)
    expect(lost).toEqual([1_000, 0, 0])
    expect(unanswered[0]).toBeGreaterThan(1_000)
    expect(unanswered.slice(1)).toEqual([0, 0])
  })

  it('shares no command with the others', async () => {
    const store = new Nodes(true)
    await hold(store, 300, 10_000)
    expect(store.batches.length).toBeGreaterThan(3)
    for (const keys of store.batches) expect(new Set(keys.map(nodeOf)).size).toBe(1)
  })

  it('costs others no lease either where the store does not tell nodes apart', async () => {
    const { lost, unanswered } = await hold(new Nodes(false), 1_500, 10_000)
    expect(lost).toEqual([500, 0, 0])
    expect(unanswered.slice(1)).toEqual([0, 0])
  })

  it('takes up no place that a living node needs: four batches of each, and four of those that stay unanswered', async () => {
    const store = new Nodes(true)
    await hold(store, 6_000, 10_000)
    expect(store.mostInFlight).toBeGreaterThan(4)
    expect(store.mostInFlight).toBeLessThanOrEqual(4 * (nodes + 1))
  })

  it('gets its leases back into its own batches once it answers again', async () => {
    const store = new Nodes(true)
    const locks = createLocker({ store, clock, ttl: '10s', onEvent: (event) => events.push(event) })
    const leases = await Promise.all(Array.from({ length: 30 }, (_, at) => locks.acquire(String(at))))
    store.silent.add(0)
    await clock.advance(6_000)
    store.silent.clear()
    await clock.advance(60_000)
    expect(leases.filter(({ signal }) => signal.aborted)).toEqual([])
    store.batches.length = 0
    await clock.advance(10_000)
    // Some ninety renewals, still together.
    expect(store.batches.length).toBeLessThanOrEqual(40)
  })
})
