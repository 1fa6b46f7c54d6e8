import { type SeededRandom, seededRandom } from '@leasehold/testkit'
import { Events } from './events.ts'
import { ModelBridge } from './model-bridge.ts'
import { ModelProcess } from './model-process.ts'
import { key, ModelStore, type Reply, type Request, type Rules, type Verb } from './model-store.ts'
import { type Belief, ModelWaiter, type Wish } from './model-waiter.ts'
import type { Observer } from './observed-queue.ts'
import type { Behaviour, Faults, Load, Range } from './setting.ts'
import type { TraceStep } from './trace.ts'

/** The parameters of a run. */
export interface Setting {
  readonly faults: Faults
  readonly load: Load
  readonly behaviour: Behaviour
  readonly rules: Rules
}

/** The first grant of an acquisition, as the store sees it. */
export interface Grant {
  readonly atMs: number
  readonly waiter: ModelWaiter
  readonly fence: number
}

/** The server's clock at the start, in milliseconds. */
const startMs = 1_800_000_000_000

/** The network, the clocks and the faults of one run, in virtual time. */
export class World {
  readonly faults: Faults
  readonly load: Load
  readonly behaviour: Behaviour
  readonly bridge: ModelBridge = new ModelBridge(this)
  readonly processes: ModelProcess[] = []
  readonly waiters: ModelWaiter[] = []
  readonly grants: Grant[] = []
  readonly beliefs: Belief[] = []
  readonly commands: Map<string, number> = new Map()
  /** Problems in the store's own timeline. */
  readonly confused: string[] = []
  /** The most waiters that one request named, dropped, or gave the turn. */
  mostWork = 0
  nowMs = 0
  /** The current capacity, and the largest there was. */
  capacity: number
  mostCapacity: number
  wipedFence: number | undefined
  readonly #random: SeededRandom['random']
  readonly #rules: Rules
  readonly #events: Events = new Events()
  readonly #byName: Map<string, ModelWaiter> = new Map()
  readonly #tokens: Set<string> = new Set()
  readonly #stops: Map<ModelProcess, () => void> = new Map()
  readonly #trace: TraceStep[] = []
  #store: ModelStore
  #skewMs = 0
  #ticks = 0
  #work = 0
  #asked: Promise<void> | undefined

  constructor(seed: number, { faults, load, behaviour, rules }: Setting) {
    this.#random = seededRandom(seed).random
    this.faults = faults
    this.load = load
    this.behaviour = behaviour
    this.capacity = load.kind.capacity
    this.mostCapacity = load.kind.capacity
    this.#rules = rules
    this.#store = this.#open()
    this.#populate()
    this.#plan()
  }

  /** Whether several may have the lock. */
  get isShared(): boolean {
    return this.load.kind.name !== 'exclusive'
  }

  get trace(): readonly TraceStep[] {
    return [...this.#trace, ...this.#store.trace]
  }

  /** Runs until no event is left. */
  async run(horizonMs = 400_000): Promise<this> {
    for (let event = this.#events.next(); event && event.atMs <= horizonMs; event = this.#events.next()) {
      this.nowMs = Math.max(this.nowMs, event.atMs)
      event.step()
      while (this.#asked) {
        const asked = this.#asked
        this.#asked = undefined
        await asked
      }
    }
    return this
  }

  /** The state of the store `ms` later. */
  stateIn(ms: number): ReturnType<ModelStore['state']> {
    this.nowMs += ms
    return this.#store.state()
  }

  // --- Time and chance ---

  at(atMs: number, step: () => void): void {
    this.#events.add(atMs, step)
  }

  between(from: number, to: number): number {
    return from + this.#random() * (to - from)
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #within([from, to]: Range): number {
    return this.between(from, to)
  }

  // --- Network ---

  delay(): number {
    return this.#chance(this.faults.late) ? this.between(5, this.faults.lateMs) : this.between(0.2, 5)
  }

  /** Sends something that arrives later, unless it is lost. */
  send(loss: number, arrive: () => void): void {
    if (!this.#chance(loss)) this.at(this.nowMs + this.delay(), arrive)
  }

  /** A command of a process. The request may be lost, late or doubled, and so may the answer. */
  call<V extends Verb>(
    process: ModelProcess,
    verb: V,
    request: Request<V>,
    answer: (reply: Reply<V>, sentAtMs: number) => void,
  ): void {
    const { requestLoss, replyLoss, duplicate } = this.faults
    const sentAtMs = this.nowMs
    this.count(verb)
    const copies = this.#chance(duplicate) ? 2 : 1
    for (let copy = 0; copy < copies; copy++) {
      this.send(requestLoss, () =>
        this.ask(verb, request, (reply) => {
          if (copy > 0 || process.muteUntilMs > this.nowMs) return
          this.send(replyLoss, () => process.run(() => answer(reply, sentAtMs)))
        }),
      )
    }
  }

  count(verb: string): void {
    this.commands.set(verb, (this.commands.get(verb) ?? 0) + 1)
  }

  /** A command that has arrived. */
  ask<V extends Verb>(verb: V, request: Request<V>, answer: (reply: Reply<V>) => void): void {
    const before = this.#asked
    const carryOut = async (): Promise<void> => {
      await before
      this.#work = 'numbers' in request ? request.numbers.length : 0
      const reply = await this.#store.ask(verb, request)
      this.mostWork = Math.max(this.mostWork, this.#work)
      if (reply.type === 'granted') this.#granted(reply.token, reply.fence)
      answer(reply)
    }
    this.#asked = carryOut()
  }

  #granted(token: string, fence: number): void {
    if (this.#tokens.has(token)) return
    this.#tokens.add(token)
    const acquisition = Number.parseInt(token.slice(0, token.indexOf('.')), 16)
    const waiter = this.waiters[Math.floor(acquisition / 1_000)] as ModelWaiter
    this.grants.push({ atMs: this.nowMs, waiter, fence })
    const { answered, waiting, capacity } = this.#store.state()
    if (answered > capacity)
      this.confused.push(`store: ${waiter} was granted beside others: ${answered} of ${capacity} permits are held`)
    if (waiter.wish.tries && waiting > 0) this.confused.push(`try: ${waiter} took what ${waiting} queue for`)
  }

  // --- The store ---

  #open(): ModelStore {
    const waiter = (name: string): ModelWaiter => this.#byName.get(name) as ModelWaiter
    const observer: Observer = {
      onEntered: (name) => {
        const it = waiter(name)
        it.enteredMs ??= this.nowMs
        if (it.entries++ > 0) it.passedOver = true
      },
      onPassedOver: (name) => {
        this.#work++
        waiter(name).passedOver = true
      },
      // Several may be served in one request: their order is kept.
      onServed: (name) => {
        this.#work++
        waiter(name).servedMs ??= this.nowMs + ++this.#ticks * 1e-9
      },
    }
    const store = new ModelStore(
      () => startMs + Math.floor(this.nowMs) + this.#skewMs,
      this.#rules,
      observer,
      this.faults.uncounted,
    )
    store.listen(key, (payload) => this.#announced(payload))
    return store
  }

  #wipe(): void {
    this.wipedFence = Math.max(0, ...this.grants.map(({ fence }) => fence))
    this.#trace.push(...this.#store.trace, { type: 'wiped' })
    this.#store = this.#open()
    for (const process of this.#stops.keys()) this.#subscribe(process)
  }

  /** The subscription of a process: the store counts it even while the process is frozen, but not once it is killed. */
  #subscribe(process: ModelProcess): void {
    if (process.http) return
    const stop = this.#store.listen(process.inbox, (payload) => {
      if (process.muteUntilMs > this.nowMs) return
      this.send(this.faults.messageLoss, () => process.run(() => process.told(Number(payload.slice(5)))))
    })
    this.#stops.set(process, stop)
  }

  #unsubscribe(process: ModelProcess): void {
    this.#stops.get(process)?.()
    this.#stops.delete(process)
  }

  /** On the key's own channel: the turn of an HTTP waiter, or a message that makes everybody look. */
  #announced(payload: string): void {
    const name = payload.startsWith('turn ') ? payload.slice(5) : undefined
    const { messageLoss } = this.faults
    this.send(messageLoss, () => (name === undefined ? this.bridge.lookForAll() : this.bridge.answer(name)))
    if (name !== undefined) return
    for (const process of this.processes) {
      if (process.http || !process.isHearing) continue
      this.send(messageLoss, () =>
        process.run(() => {
          process.look()
          for (const waiter of process.waiters) if (waiter.plain) waiter.lookMyself()
        }),
      )
    }
  }

  // --- The cast ---

  #populate(): void {
    const { load } = this
    for (let number = 0; number < load.processes; number++) this.processes.push(new ModelProcess(this, number, false))
    for (let number = 0; number < load.clients; number++) {
      let process = this.processes[number % load.processes] as ModelProcess
      if (this.#chance(load.http)) {
        process = new ModelProcess(this, this.processes.length, true)
        this.processes.push(process)
      }
      const waiter = new ModelWaiter(this, number, process, this.#wish(process.http))
      this.waiters.push(waiter)
      this.#byName.set(waiter.name, waiter)
      const isEarly = load.firstEarly && process.number === 0
      const arrivesMs = isEarly ? this.between(0, 50) : this.between(load.firstEarly ? 50 : 0, load.arriveMs)
      this.at(arrivesMs, () => process.run(() => waiter.start()))
    }
    for (const process of this.processes) this.#subscribe(process)
  }

  #wish(http: boolean): Wish {
    const { load, faults } = this
    const { name, capacity } = load.kind
    const permits = (): number => {
      if (name === 'exclusive') return 1
      if (name === 'read-write') return this.#chance(0.25) ? capacity : 1
      return 1 + Math.floor(this.#random() * Math.min(2, capacity))
    }
    const plain = this.#chance(faults.plain)
    return {
      plain,
      tries: !plain && this.#chance(faults.tries),
      holdMs: this.#chance(load.longHolds) ? this.between(2_000, 6_000) : this.#within(load.holdMs),
      permits: permits(),
      abortAfterMs: this.#chance(faults.aborts) ? this.between(1, 6_000) : undefined,
      ttlMs: load.ttls[Math.floor(this.#random() * load.ttls.length)] as number,
      priorityClass: Math.floor(this.#random() * load.classes),
      diesUnpolled: http && this.#chance(faults.unpolled),
    }
  }

  /** Schedules which fault hits which process, and when. */
  #plan(): void {
    const { faults, load } = this
    const victims = this.processes.slice(0, load.processes).map((process) => ({ process, order: this.#random() }))
    victims.sort((a, b) => a.order - b.order)
    if (load.firstEarly) victims.sort((a, b) => Number(a.process.number > 0) - Number(b.process.number > 0))
    const cast = victims.map(({ process }) => process)
    for (const process of cast.slice(0, faults.killed)) this.#planDeath(process)
    for (const process of cast.slice(faults.killed, faults.killed + faults.frozen)) this.#planFreezes(process)
    for (const process of cast.slice(cast.length - faults.deaf)) this.#planDeafness(process)
    for (const process of cast.slice(0, faults.mute)) this.#planMuteness(process)
    if (faults.wiped) this.at(this.between(500, load.arriveMs + 2_000), () => this.#wipe())
    if (faults.setBackMs > 0) {
      this.at(this.between(500, load.arriveMs), () => {
        this.#skewMs = -faults.setBackMs
      })
    }
    for (let resize = 0; resize < faults.resizes; resize++) {
      const [least, most] = faults.resizeTo
      const capacity = Math.floor(this.between(least, most + 1))
      this.at(this.between(300, load.arriveMs + 3_000), () => this.#resize(capacity))
    }
  }

  #planDeath(process: ModelProcess): void {
    const atMs = this.between(200, this.load.arriveMs)
    process.faulty = true
    process.absences.push([atMs, Infinity])
    this.at(atMs, () => {
      process.dead = true
      this.#unsubscribe(process)
    })
  }

  #planFreezes(process: ModelProcess): void {
    const { freezes, freezeMs, awakeMs } = this.faults
    process.faulty = true
    let atMs = this.between(100, this.load.arriveMs)
    for (let freeze = 0; freeze < freezes; freeze++) {
      const untilMs = atMs + this.#within(freezeMs)
      process.absences.push([atMs, untilMs])
      this.at(atMs, () => {
        process.frozenUntilMs = untilMs
      })
      atMs = untilMs + this.#within(awakeMs)
    }
  }

  #planDeafness(process: ModelProcess): void {
    const atMs = this.between(0, this.load.arriveMs)
    const untilMs = atMs + this.between(500, 8_000)
    this.at(atMs, () => {
      process.deafUntilMs = untilMs
      this.#unsubscribe(process)
    })
    this.at(untilMs, () => !process.dead && this.#subscribe(process))
  }

  #planMuteness(process: ModelProcess): void {
    const atMs = this.between(300, 1_000)
    const untilMs = atMs + this.between(5_000, 30_000)
    process.faulty = true
    process.absences.push([atMs, untilMs])
    this.at(atMs, () => {
      process.muteUntilMs = untilMs
    })
  }

  #resize(capacity: number): void {
    this.capacity = capacity
    this.mostCapacity = Math.max(this.mostCapacity, capacity)
    const kind = { ...this.load.kind, capacity }
    this.ask('resize', { key, kind }, () => undefined)
  }
}
