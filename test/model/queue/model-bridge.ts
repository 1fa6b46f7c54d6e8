import { httpAliveMs } from '../../../packages/core/src/store/queue-figures.ts'
import { key } from './model-store.ts'
import type { ModelWaiter } from './model-waiter.ts'
import type { World } from './world.ts'

const pollMs = 25_000

/**
 * The bridge: it holds the long polls of the HTTP waiters, keeps the waiters alive, and answers those that have the
 * turn. It never dies here.
 */
export class ModelBridge {
  readonly #world: World
  readonly #polls: Map<string, ModelWaiter> = new Map()
  #armed = false

  constructor(world: World) {
    this.#world = world
  }

  open(waiter: ModelWaiter): void {
    const world = this.#world
    world.send(world.faults.requestLoss, () => {
      if (waiter.process.dead) return
      this.#polls.set(waiter.name, waiter)
      world.at(world.nowMs + pollMs, () => this.#polls.get(waiter.name) === waiter && this.answer(waiter.name))
      this.#look([waiter])
      this.#arm()
    })
  }

  /** Answers the poll of a waiter that has the turn, or has to ask. */
  answer(name: string): void {
    const waiter = this.#polls.get(name)
    if (!waiter) return
    this.#polls.delete(name)
    this.#world.send(this.#world.faults.replyLoss, () => waiter.process.run(() => waiter.lookMyself()))
  }

  /** Looks for all waiters whose polls it holds. */
  lookForAll(): void {
    this.#look([...this.#polls.values()])
  }

  #arm(): void {
    if (this.#armed || this.#polls.size === 0) return
    this.#armed = true
    this.#world.at(this.#world.nowMs + this.#world.behaviour.recheckMs, () => {
      this.#armed = false
      // Its connection was closed.
      for (const [name, waiter] of this.#polls) if (waiter.process.dead) this.#polls.delete(name)
      this.lookForAll()
      this.#arm()
    })
  }

  /** One command for all of them. */
  #look(waiters: readonly ModelWaiter[]): void {
    if (waiters.length === 0) return
    const world = this.#world
    world.count('bridge look')
    world.send(world.faults.requestLoss, () => {
      for (const waiter of waiters) this.#lookFor(waiter)
    })
  }

  #lookFor(waiter: ModelWaiter): void {
    const world = this.#world
    const { bridgeKeeps, recheckMs } = world.behaviour
    const { number, name } = waiter
    const request = { key, inbox: waiter.process.inbox, aliveMs: bridgeKeeps ? httpAliveMs : 0, numbers: [number] }
    world.ask('look', request, (reply) => {
      if (reply.type !== 'looked') throw new Error('A look is always answered')
      if (reply.turns.length > 0 || reply.missing.length > 0)
        world.at(world.nowMs + world.delay(), () => this.answer(name))
      const againMs = reply.againInMs ?? Infinity
      if (againMs < recheckMs) {
        world.at(
          world.nowMs + world.delay() + Math.max(10, againMs),
          () => this.#polls.get(name) === waiter && this.#look([waiter]),
        )
      }
    })
  }
}
