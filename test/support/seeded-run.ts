import { type AcquireOptions, backoff, createLocker, type Lease, type Locker, type WaitStrategy } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { LockHistory, ManualClock, patienceMs, ScriptedNotifier, ScriptedStore, seededRandom } from '@leasehold/testkit'
import { acquireOptions, hasty, patient, pickHoldMs, pickTtlMs, strategies } from './run-options.ts'
import { fateIn, type Weather } from './weather.ts'
import { between, pick, type Random, type Weighted } from './weighted.ts'

/** The phases that make up a cycle. */
type Phase = 'patient burst' | 'hasty burst' | 'abort' | 'try' | 'quiet' | 'pair'

const phases: readonly Phase[] = [
  'patient burst',
  'abort',
  'try',
  'hasty burst',
  'quiet',
  'pair',
  'pair',
  'quiet',
  'pair',
  'quiet',
]

interface Process {
  readonly name: string
  readonly locks: Locker
  readonly recheckMs: number | undefined
}

interface Call {
  readonly process: Process
  readonly key: string
  readonly stop: AbortController
  open: boolean
}

/** Locks, and processes that want them, on a manual clock. */
class Run {
  readonly clock: ManualClock = new ManualClock()
  readonly history: LockHistory = new LockHistory(this.clock)
  readonly #random: Random
  readonly #weather: Weather
  readonly #processes: readonly Process[]
  readonly #keys: readonly string[]
  readonly #calls: Call[] = []

  /**
   * @param luck what happens on the way to the store: a separate source, so that how often it is drawn changes nothing
   * else
   */
  constructor(random: Random, luck: Random, weather: Weather) {
    this.#random = random
    this.#weather = weather
    // The real store's timers only free memory.
    const { clock } = this
    const quiet = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      schedule: () => () => undefined,
    }
    const store = memoryStore({ clock: quiet })
    const server = this.history.behind(store)
    const polling = random() < 0.5
    const makeProcess = (name: string): Process => {
      const link = new ScriptedStore(clock, server)
      for (const call of ['acquire', 'renew', 'release', 'inspect'] as const)
        link.always(call, fateIn(weather, luck, call))
      const notifier = polling
        ? undefined
        : pick(random, [
            [2, undefined],
            [2, memoryNotifier(store)],
            // No message is ever delivered.
            [1, new ScriptedNotifier()],
            // Subscriptions are never confirmed.
            [1, new ScriptedNotifier({ confirms: false })],
          ])
      const recheckMs =
        notifier &&
        pick(random, [
          [3, 1_000],
          [1, 300],
          [1, 4_000],
        ])
      const options = recheckMs === undefined ? {} : { recheck: recheckMs }
      const locks = createLocker({ store: this.history.before(link, name), clock, notifier, ...options })
      return { name, locks, recheckMs }
    }
    this.#processes = ['a', 'b', 'c']
      .slice(
        0,
        pick(random, [
          [1, 1],
          [3, 2],
          [2, 3],
        ]),
      )
      .map(makeProcess)
    this.#keys = ['k', 'l'].slice(
      0,
      pick(random, [
        [2, 1],
        [1, 2],
      ]),
    )
  }

  /** Plays cycles of phases, most of them about the same key and process: a fault may need several in a row. */
  async play(): Promise<void> {
    const random = this.#random
    const cycles = between(random, 2, 4)
    for (let cycle = 0; cycle < cycles; cycle++) {
      const process = this.#processes[Math.floor(random() ** 2 * this.#processes.length)] as Process
      const key = this.#keys[Math.floor(random() ** 2 * this.#keys.length)] as string
      const skipped = pick(random, [
        [1, 0.05],
        [1, 0.3],
      ])
      for (const phase of phases) {
        if (random() < skipped) continue
        this.#disturb()
        await this.#phase(phase, process, key)
      }
    }
    for (let turn = 0; turn < 40 && this.#calls.some(({ open }) => open); turn++) await this.clock.advance(5_000)
  }

  async #phase(phase: Phase, process: Process, key: string): Promise<void> {
    const random = this.#random
    if (phase === 'patient burst') this.#burst(process, key, patient)
    else if (phase === 'hasty burst') this.#burst(process, key, hasty)
    else if (phase === 'try') this.#try(process, key)
    else if (phase === 'abort') this.#abort(process, key)
    else if (phase === 'pair') this.#pair(process, key)
    const soon = pick(random, [
      [4, 0],
      [2, between(random, 1, 50)],
      [1, between(random, 50, 1_500)],
    ])
    await this.clock.advance(
      phase === 'quiet'
        ? pick(random, [
            [2, between(random, 10, 500)],
            [1, between(random, 500, 16_000)],
          ])
        : soon,
    )
  }

  /** Another process does something, somewhere. */
  #disturb(): void {
    const random = this.#random
    const { revocations, deaths } = this.#weather
    const process = this.#processes[Math.floor(random() * this.#processes.length)] as Process
    const key = this.#keys[Math.floor(random() * this.#keys.length)] as string
    pick<() => void>(random, [
      [8, () => undefined],
      [1, () => this.#want(process, key, this.#options(process, pick(random, strategies)))],
      [1, () => this.#try(process, key)],
      [revocations ? 2 : 0, () => void process.locks.revoke(key).catch(() => undefined)],
      [deaths ? 2 : 0, () => this.#die(process, key)],
    ])()
  }

  /**
   * Many similar calls for the lock at once, and a few others: runs of hand-offs reach their end, and head starts
   * begin.
   */
  #burst(process: Process, key: string, temper: Weighted<WaitStrategy>): void {
    const random = this.#random
    const options = this.#options(process, pick(random, temper))
    const holdMs = pick(random, [
      [6, 0],
      [1, between(random, 1, 100)],
      [1, between(random, 100, 600)],
    ])
    const size = pick(random, [
      [1, between(random, 2, 16)],
      [4, between(random, 17, 40)],
    ])
    const others = pick(random, [
      [3, 0],
      [1, 0.1],
    ])
    for (let index = 0; index < size; index++) {
      const own = random() < others ? this.#options(process, pick(random, strategies)) : options
      this.#want(process, key, own, holdMs)
    }
  }

  /** One holder, and one waiter behind it. */
  #pair(process: Process, key: string): void {
    this.#try(process, key, between(this.#random, 100, 12_000))
    this.#want(process, key, this.#options(process, pick(this.#random, strategies)))
  }

  #abort(process: Process, key: string): void {
    const share = pick(this.#random, [
      [2, 1],
      [1, 0.3],
    ])
    for (const call of this.#calls) {
      if (call.open && call.process === process && call.key === key && this.#random() < share)
        call.stop.abort('gave up')
    }
  }

  #options({ recheckMs }: Process, strategy: WaitStrategy): AcquireOptions {
    const { roundTripMs } = this.#weather
    return acquireOptions(this.#random, { hasNotifier: recheckMs !== undefined, strategy, roundTripMs })
  }

  #want(process: Process, key: string, options: AcquireOptions, holdMs = pickHoldMs(this.#random)): void {
    const random = this.#random
    const stop = new AbortController()
    const call: Call = { process, key, stop, open: true }
    this.#calls.push(call)
    const given = { ...options, signal: stop.signal }
    const leaves = random() < 0.15 ? between(random, 0, 8_000) : undefined
    if (leaves !== undefined) this.clock.schedule(() => stop.abort('gave up'), leaves)
    const granted = random() < 0.5 ? process.locks.acquire(key, given) : this.#withLock(call, given, holdMs)
    const patience = patienceMs(
      process.recheckMs === undefined
        ? { strategy: options.strategy ?? backoff() }
        : { recheckMs: (options.recheck as number | undefined) ?? process.recheckMs },
    )
    this.#follow(call, granted, { waitMs: options.wait as number, patienceMs: patience }, holdMs)
  }

  /** `withLock`, as a lease that is released when its work ends. */
  #withLock({ process, key }: Call, options: AcquireOptions, holdMs: number): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const work = (lease: Lease): Promise<void> => {
        resolve(lease)
        return new Promise((done) => {
          this.clock.schedule(() => {
            this.history.left(lease)
            done()
          }, holdMs)
        })
      }
      process.locks.withLock(key, options, work).catch(reject)
    })
  }

  #try(process: Process, key: string, holdMs = pickHoldMs(this.#random)): void {
    const call: Call = { process, key, stop: new AbortController(), open: true }
    this.#calls.push(call)
    const ttl = pickTtlMs(this.#random, this.#weather.roundTripMs)
    const granted = process.locks.tryAcquire(key, { ttl, signal: call.stop.signal })
    this.#follow(call, granted, { waitMs: 0, patienceMs: 0 }, holdMs)
  }

  /** A holder that neither renews its lease nor releases it. */
  #die(process: Process, key: string): void {
    const call: Call = { process, key, stop: new AbortController(), open: true }
    this.#calls.push(call)
    const granted = process.locks.tryAcquire(key, {
      ttl: between(this.#random, 300, 15_000),
      renew: false,
      signal: call.stop.signal,
    })
    this.#follow(call, granted, { waitMs: 0, patienceMs: 0 }, Infinity)
  }

  #follow(
    call: Call,
    granted: Promise<Lease | null>,
    times: { waitMs: number; patienceMs: number },
    holdMs: number,
  ): void {
    const { process, key, stop } = call
    this.history.follow(granted, { key, process: process.name, ...times }, stop.signal)
    const shows = this.#random() < 0.01
    granted
      .then((lease) => {
        // A lease whose token was shown is not handed off.
        if (shows) void lease?.token
        if (lease && holdMs < Infinity) this.#holdFor(lease, holdMs)
      })
      .catch(() => undefined)
      .finally(() => {
        call.open = false
      })
  }

  #holdFor(lease: Lease, holdMs: number): void {
    const leave = (): void => {
      this.history.left(lease)
      void lease.release()
    }
    if (holdMs === 0) leave()
    else this.clock.schedule(leave, holdMs)
  }
}

/** Plays one run. The same seed does the same things at the same times, `Math.random` included. */
export async function seededRun(seed: number, weather: Weather): Promise<LockHistory> {
  const [acts, luck, jitter] = [seed, ~seed, seed ^ 0x55555555].map((each) => seededRandom(each).random) as [
    Random,
    Random,
    Random,
  ]
  const real = Math.random
  Math.random = jitter
  try {
    const run = new Run(acts, luck, weather)
    await run.play()
    return run.history
  } finally {
    Math.random = real
  }
}
