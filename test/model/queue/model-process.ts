import type { Reply, Request, Verb } from './model-store.ts'
import { key } from './model-store.ts'
import type { ModelWaiter } from './model-waiter.ts'
import type { World } from './world.ts'

/** One process: an inbox, and a safety timer. */
export class ModelProcess {
  readonly world: World
  readonly number: number
  readonly inbox: string
  readonly http: boolean
  /** The rate of its clock; 1 is exact. */
  readonly rate: number
  readonly waiters: ModelWaiter[] = []
  /** When the process was frozen, mute or dead. */
  readonly absences: [fromMs: number, untilMs: number][] = []
  faulty = false
  dead = false
  frozenUntilMs = 0
  deafUntilMs = 0
  muteUntilMs = 0
  #timerAtMs = Infinity
  #timer = 0

  constructor(world: World, number: number, http: boolean) {
    this.world = world
    this.number = number
    this.http = http
    this.inbox = number.toString(16).padStart(32, http ? 'f' : '0')
    this.rate = world.between(0.995, 1.005)
  }

  get isHearing(): boolean {
    return !this.dead && this.deafUntilMs <= this.world.nowMs
  }

  /** Runs a step of this process now, or when it is thawed, in any order, or never. */
  run(step: () => void): void {
    if (this.dead) return
    if (this.frozenUntilMs > this.world.nowMs) {
      this.world.at(this.frozenUntilMs + this.world.between(0, 3), () => this.run(step))
    } else {
      step()
    }
  }

  after(ms: number, step: () => void): void {
    this.world.at(this.world.nowMs + Math.max(0, ms) / this.rate, () => this.run(step))
  }

  call<V extends Verb>(verb: V, request: Request<V>, answer: (reply: Reply<V>, sentAtMs: number) => void): void {
    this.world.call(this, verb, request, answer)
  }

  /**
   * A waiter has the turn: a hint like any other. If the waiter is still waiting, it asks again; if not, the turn is
   * given back.
   */
  told(number: number): void {
    const { ownNames, unwanted } = this.world.behaviour
    const waiter = this.waiters.find((it) => it.number === number && it.waits && (ownNames || it.state === 'queued'))
    if (waiter) waiter.askAgain()
    else if (unwanted) {
      this.call('leave', { key, inbox: this.inbox, number, acquisitionId: undefined }, () => undefined)
    }
  }

  // --- The safety timer ---

  arm(ms: number): void {
    const { recheckMs, rechecks } = this.world.behaviour
    const atMs = this.world.nowMs + Math.max(10, Math.min(ms, recheckMs))
    if (!rechecks || atMs >= this.#timerAtMs) return
    this.#timerAtMs = atMs
    const timer = ++this.#timer
    this.after(atMs - this.world.nowMs, () => timer === this.#timer && this.look())
  }

  look(): void {
    const { recheckMs, named, aliveMs } = this.world.behaviour
    this.#timerAtMs = Infinity
    this.#timer++
    const queued = this.waiters.filter((waiter) => waiter.state === 'queued' && !waiter.plain)
    if (queued.length === 0 || this.http) return
    this.arm(recheckMs)
    const askedAtMs = this.world.nowMs
    const asked = queued.sort((a, b) => a.placeMs - b.placeMs || a.number - b.number).slice(0, named)
    const numbers = asked.map(({ number }) => number)
    this.call('look', { key, inbox: this.inbox, aliveMs, numbers }, (reply) => {
      if (reply.type !== 'looked') throw new Error('A look is always answered')
      for (const number of reply.turns) this.told(number)
      for (const waiter of asked) {
        const isMissing = reply.missing.includes(waiter.number)
        // A missing waiter asks again, and so enters.
        if (isMissing && waiter.state === 'queued' && waiter.queuedAtMs < askedAtMs) waiter.askAgain()
      }
      this.arm((reply.againInMs ?? Infinity) + 5)
    })
  }
}
