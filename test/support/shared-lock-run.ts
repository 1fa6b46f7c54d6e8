import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { type ReadLease, type ReadWriteLock, readWriteLock, type WriteLease } from '@leasehold/core/read-write'
import { type Semaphore, semaphore } from '@leasehold/core/semaphore'
import { answered, ManualClock, ScriptedStore, seededRandom } from '@leasehold/testkit'
import { fateIn, type Weather } from './weather.ts'
import { between, pick, type Random } from './weighted.ts'

/** A grant that the callers believe in, with all leases that share it. */
interface Belief {
  readonly permits: number
  readonly leases: Set<Lease>
}

const queueCalls = [
  'queue.acquire',
  'queue.look',
  'queue.leave',
  'queue.renew',
  'queue.release',
  'queue.inspect',
] as const

/** Processes that want permits of one semaphore, or want to read and write under one lock, on a manual clock. */
class SharedLockRun {
  readonly clock: ManualClock = new ManualClock()
  /** Beliefs of callers that cannot be true. */
  readonly faults: string[] = []
  /** The number of grants, and how often all permits were taken, or several callers read. */
  readonly seen: { grants: number; full: number } = { grants: 0, full: 0 }
  readonly capacity: number
  readonly #random: Random
  readonly #lockers: readonly Locker[]
  readonly #links: ScriptedStore[] = []
  readonly #beliefs = new Set<Belief>()
  readonly #calls: Promise<unknown>[] = []
  readonly #stops: AbortController[] = []

  /** @param capacity of the semaphore; one of 0 is a read/write lock */
  constructor(random: Random, luck: Random, weather: Weather, capacity: number) {
    this.#random = random
    this.capacity = capacity
    const { clock } = this
    const timeless = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      schedule: () => () => undefined,
    }
    const server = memoryStore({ clock: timeless })
    this.#lockers = ['a', 'b', 'c'].map((name, index) => {
      const link = new ScriptedStore(clock, server)
      this.#links.push(link)
      for (const call of queueCalls) link.always(call, fateIn(weather, luck, call === 'queue.renew' ? 'renew' : call))
      // The last one gets no notifications, and polls.
      return createLocker({ store: link, clock, name, ...(index < 2 && { notifier: memoryNotifier(server) }) })
    })
  }

  async play(): Promise<void> {
    const random = this.#random
    for (let step = between(random, 20, 60); step > 0; step--) {
      const locks = this.#lockers[Math.floor(random() * 3)] as Locker
      this.#calls.push((this.capacity > 0 ? this.#pool(locks) : this.#document(locks)).catch(() => undefined))
      if (random() < 0.1) this.#stops[Math.floor(random() * this.#stops.length)]?.abort('gave up')
      const pauseMs = pick(random, [
        [4, 0],
        [4, between(random, 1, 200)],
        [1, between(random, 200, 3_000)],
      ])
      await this.clock.advance(pauseMs)
      this.#check()
    }
    let open = true
    void Promise.all(this.#calls).then(() => {
      open = false
    })
    for (let turn = 0; turn < 60 && open; turn++) {
      await this.clock.advance(1_000)
      this.#check()
    }
    if (open) this.faults.push('a call has not settled a minute later')
  }

  /** Takes everything once nobody wants anything anymore, and closes. */
  async end(): Promise<void> {
    await this.clock.advance(60_000)
    for (const link of this.#links) for (const call of queueCalls) link.always(call, answered)
    const everything = await this.#timed(everythingOf(this.#lockers[0] as Locker, this.capacity))
    if (!everything) this.faults.push('not everything is free a minute after the last call')
    await this.#timed(everything?.release())
    await this.#timed(Promise.all(this.#lockers.map((locks) => locks.close({ grace: 0 }))))
    await this.clock.advance(30_000)
    if (this.clock.pending > 0) this.faults.push(`${this.clock.pending} timers are armed after the end`)
  }

  async #timed<T>(promise: Promise<T> | undefined): Promise<T | undefined> {
    let value: T | undefined
    let open = true
    void promise
      ?.catch(() => undefined)
      .then((given) => {
        value = given as T
      })
      .finally(() => {
        open = false
      })
    for (let turn = 0; turn < 60 && open; turn++) await this.clock.advance(500)
    return value
  }

  async #pool(locks: Locker): Promise<void> {
    const random = this.#random
    const pool: Semaphore = semaphore(locks, 'pool', { permits: this.capacity })
    const permits = between(random, 1, this.capacity)
    const options = this.#options()
    const lease = await (random() < 0.15
      ? pool.tryAcquire({ permits, ttl: options.ttl, renew: options.renew })
      : pool.acquire({ ...options, permits }))
    if (!lease) return
    const belief = this.#believe(lease, lease.permits)
    // Its holder has died.
    if (!options.renew && random() < 0.3) return
    await this.#hold()
    await this.#release(belief, lease)
  }

  async #document(locks: Locker): Promise<void> {
    const random = this.#random
    const doc: ReadWriteLock = readWriteLock(locks, 'doc')
    const options = this.#options()
    const lease: ReadLease | WriteLease = await (random() < 0.5 ? doc.read(options) : doc.write(options))
    const belief = this.#believe(lease, lease.mode === 'read' ? 1 : Infinity)
    if (!options.renew && random() < 0.3) return
    await this.#hold()
    const nested = random() < 0.5 ? await doc.read({ within: lease }) : undefined
    if (nested) belief.leases.add(nested)
    const leases = [lease, nested].filter((each) => each !== undefined)
    if (random() < 0.5) leases.reverse()
    for (const each of leases) {
      await this.#hold()
      // Not awaited, so that the next may be released while the answer is in flight.
      void this.#release(belief, each)
    }
  }

  #options() {
    const random = this.#random
    const stop = new AbortController()
    this.#stops.push(stop)
    return {
      ttl: between(random, 500, 8_000),
      wait: between(random, 50, 12_000),
      renew: random() < 0.7,
      signal: stop.signal,
    }
  }

  #hold(): Promise<void> {
    const heldMs = pick(this.#random, [
      [2, 0],
      [4, between(this.#random, 1, 300)],
      [1, between(this.#random, 300, 9_000)],
    ])
    return new Promise((resolve) => {
      this.clock.schedule(resolve, heldMs)
    })
  }

  #believe(lease: Lease, permits: number): Belief {
    const belief = { permits, leases: new Set([lease]) }
    this.#beliefs.add(belief)
    this.seen.grants++
    this.#check()
    return belief
  }

  /** A lease counts as believed until its release is called. */
  #release(belief: Belief, lease: Lease): Promise<unknown> {
    belief.leases.delete(lease)
    return lease.release()
  }

  #check(): void {
    let [taken, readers] = [0, 0]
    for (const belief of this.#beliefs) {
      const live = [...belief.leases].filter((lease) => lease.remaining() > 0)
      if (live.length === 0) continue
      if (this.capacity > 0) taken += belief.permits
      else if (live.some((lease) => (lease as ReadLease | WriteLease).mode === 'write')) taken++
      else readers++
    }
    if (this.capacity > 0 ? taken === this.capacity : readers > 1) this.seen.full++
    const isWrong = this.capacity > 0 ? taken > this.capacity : taken > 1 || (taken === 1 && readers > 0)
    if (isWrong) this.faults.push(`${taken} taken and ${readers} read at ${this.clock.monotonicMs()} ms`)
  }
}

/** All permits, or the whole lock. */
const everythingOf = (locks: Locker, capacity: number): Promise<Lease | null> =>
  capacity > 0
    ? semaphore(locks, 'pool', { permits: capacity }).tryAcquire({ permits: capacity })
    : readWriteLock(locks, 'doc').tryWrite()

/** Plays one run. The same seed does the same things at the same times, `Math.random` included. */
export async function sharedLockRun(seed: number, weather: Weather, isReadWrite: boolean): Promise<SharedLockRun> {
  const [acts, luck, jitter] = [seed, ~seed, seed ^ 0x55555555].map((each) => seededRandom(each).random) as [
    Random,
    Random,
    Random,
  ]
  const real = Math.random
  Math.random = jitter
  try {
    const run = new SharedLockRun(acts, luck, weather, isReadWrite ? 0 : between(acts, 1, 6))
    await run.play()
    await run.end()
    return run
  } finally {
    Math.random = real
  }
}
