import { sharesBetweenCalls } from '#sharing'
import type { Home } from '../sharing/home-context.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { instant } from '../timing/validity.ts'
import type { Attempt } from './attempt.ts'
import { type AnyVerb, type Calls, callsBy, sendAlone, type Verb } from './calls.ts'
import { Command, notSent } from './command.ts'
import { CommandTimes } from './command-times.ts'
import { leastToHalve, mostUnderWay, quietMicrotasks } from './figures.ts'
import type { LeaseStore } from './lease-store.ts'

/** A microtask by `then` costs less than one by `queueMicrotask`, which retains an async context for it, or by `await`. */
const settled = Promise.resolve()

const sendLane = (lane: Lane): void => lane.send()

/** What the calls of a locker share. */
interface Joining {
  readonly store: LeaseStore
  readonly clock: Clock
  /** The same clock, with timers that run at home. */
  readonly background: Clock
  readonly home: Home
}

/** The commands of all verbs and to all nodes. */
interface Traffic {
  /** How many are in flight. */
  commands: number
  /** Half of a turn has left, and the rest must not leave in the same write. Nor may what was called later. */
  awaitsWrite: boolean
  /** Sends all of that, in order. */
  resume(): void
  /** What callers share, and all that follows, runs in no caller's async context. A lone call stays in its own. */
  readonly home: Home
}

/**
 * Sends requests to a store. Requests of one verb for one node share a command if they come in the same turn of the event
 * loop, from any calls of a locker. None waits for others: a command leaves as soon as no further request joins it.
 */
export function jointCalls({ store, clock, background, home }: Joining): Calls {
  const anyVerb = store as unknown as AnyVerb
  const times = new CommandTimes(clock, background)
  /** The lanes of each verb, by node, in the order in which they leave. */
  const verbs: ReadonlyMap<string, Lane>[] = []
  /** How many requests have joined since commands last left, and which lane the last of them joined. */
  let joined = 0
  let last: Lane
  /** How many of these the last microtask saw, and how many microtasks have passed since one joined. */
  let seen = 0
  let quiet = 0
  /** Asked by the first call. */
  let mayShare: boolean | undefined

  /** Calls of one turn follow each other microtask by microtask. A few microtasks without a request end the turn. */
  function leave(): void {
    if (joined > seen) {
      seen = joined
      quiet = 0
    }
    if (++quiet <= quietMicrotasks) void settled.then(leave)
    else {
      const isShared = joined > 1
      joined = 0
      seen = 0
      if (isShared) void home(sendAll)
      else last.send()
    }
  }

  const sendAll = (): void => {
    for (const lanes of verbs) lanes.forEach(sendLane)
  }
  const traffic: Traffic = {
    commands: 0,
    awaitsWrite: false,
    home,
    resume() {
      traffic.awaitsWrite = false
      void home(sendAll)
    },
  }

  return callsBy((verb) => {
    const lanes = new Map<string, Lane>()
    verbs.push(lanes)

    function laneTo(node: string): Lane {
      const made = new Lane(anyVerb, times, verb, traffic)
      lanes.set(node, made)
      return made
    }

    function join(request: { readonly key: string }, attempt: Attempt<unknown>): void {
      const node = store.nodeOf(request.key)
      last = lanes.get(node) ?? laneTo(node)
      last.add(request, attempt)
      if (++joined === 1) void settled.then(leave)
    }

    return (request, attempt) => {
      mayShare ??= sharesBetweenCalls()
      if (!mayShare) return sendAlone(anyVerb, verb, request, attempt)
      const obstacle = store.whenReady(request.key, attempt)
      if (!obstacle) return join(request, attempt)
      obstacle.then(
        (outcome) => (outcome ? attempt.settle(outcome) : join(request, attempt)),
        (error: unknown) => attempt.reject(error),
      )
    }
  })
}

/** The commands of one verb to one node. */
class Lane {
  readonly #store: AnyVerb
  readonly #times: CommandTimes
  readonly #verb: Verb
  readonly #traffic: Traffic
  /** Commands that have not left yet, the oldest first. Requests may still join the newest and leave any. */
  readonly #open: Command[] = []
  /** How many commands are in flight. One with a single request is not counted if none was in flight when it left. */
  #underWay = 0
  /** The only request that has not left. Most leave alone; one that gets company, or has to wait, becomes a command. */
  #lone: { readonly request: unknown; readonly attempt: Attempt<unknown> } | undefined

  constructor(store: AnyVerb, times: CommandTimes, verb: Verb, traffic: Traffic) {
    this.#store = store
    this.#times = times
    this.#verb = verb
    this.#traffic = traffic
  }

  add(request: unknown, attempt: Attempt<unknown>): void {
    if (!this.#lone && this.#open.length === 0) {
      attempt.isTimed = true
      this.#lone = { request, attempt }
      return
    }
    this.#closeLone()
    const last = this.#open[this.#open.length - 1]
    if (!last?.join(request, attempt)) this.#open.push(new Command(this.#times, request, attempt))
  }

  /** Turns the lone request, if there is one, into a command. */
  #closeLone(): void {
    if (!this.#lone) return
    const { request, attempt } = this.#lone
    this.#lone = undefined
    this.#open.push(new Command(this.#times, request, attempt))
  }

  /**
   * If the store is idle, halves a large command that is alone. Otherwise callers and store would move in lockstep: all
   * callers wait while the store works, and the store waits while they go on. Once two commands are in flight, each
   * keeps its own time. Returns whether it halved one.
   */
  #stagger(): boolean {
    const [first, second] = this.#open
    const { commands, awaitsWrite } = this.#traffic
    if (commands > 0 || awaitsWrite || !this.#store.inNextWrite) return false
    if (!first || second || first.requests.length < leastToHalve) return false
    this.#open.push(first.halve())
    return true
  }

  /** Sends what may leave now. The rest of a burst waits until earlier commands have ended. */
  send(): void {
    if (this.#lone && this.#underWay === 0 && !this.#traffic.awaitsWrite) {
      const { request, attempt } = this.#lone
      this.#lone = undefined
      this.#sendLone(request, attempt)
      return
    }
    this.#closeLone()
    const isHalved = this.#stagger()
    while (this.#open.length > 0) {
      if (this.#traffic.awaitsWrite || this.#underWay >= mostUnderWay) {
        for (const command of this.#open) command.queue()
        return
      }
      const command = this.#open.shift() as Command
      if (command.send()) this.#send(command)
      if (isHalved) this.#awaitNextWrite()
    }
  }

  /** The store would answer two commands of one write together. Requests may join the second until it leaves. */
  #awaitNextWrite(): void {
    const { resume } = this.#traffic
    this.#traffic.awaitsWrite = true
    try {
      this.#store.inNextWrite?.(resume)
    } catch {
      resume()
    }
  }

  #sendLone(request: unknown, attempt: Attempt<unknown>): void {
    if (attempt.isOver) {
      attempt.settle(notSent)
      return
    }
    const { clock } = this.#times
    // To read both clocks takes three times as long. An earlier date makes a grant promise less, but a release tell more.
    const isFresh = this.#verb !== 'release' && clock.wallMs() - attempt.sentAt.wallMs <= 1
    attempt.send(isFresh ? attempt.sentAt : instant(clock))
    const answer = this.#ask([request], attempt)
    // Only once it has left: the store works on it meanwhile. If its caller gives up, it stays there until its time is up.
    this.#times.begin(attempt, attempt.withinMs, attempt.sentAt)
    answer.then(
      (outcomes) => {
        this.#times.end(attempt)
        attempt.settle(outcomes?.[0])
      },
      (error: unknown) => {
        this.#times.end(attempt)
        attempt.reject(error)
      },
    )
  }

  #send(command: Command): void {
    const { requests, attempts, call } = command
    const ended = attempts.length > 1 || this.#underWay > 0 ? this.#count(call) : undefined
    const reject = (error: unknown): void => {
      ended?.()
      command.reject(error, (request, attempt) => sendAlone(this.#store, this.#verb, request, attempt))
    }
    const answer = this.#ask(requests, call)
    command.time()
    answer.then((outcomes) => {
      ended?.()
      command.settle(outcomes)
    }, reject)
  }

  #ask(requests: readonly unknown[], call: CallDeadline): Promise<readonly unknown[]> {
    try {
      return this.#store[this.#verb](requests, call)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Counts a command as in flight. Returns the function to call when it has ended. */
  #count(call: Command['call']): () => void {
    this.#underWay++
    this.#traffic.commands++
    let isUnderWay = true
    const ended = (): void => {
      if (!isUnderWay) return
      isUnderWay = false
      this.#traffic.commands--
      // If it held up no command, the open ones belong to a turn that is still going on.
      if (this.#underWay-- >= mostUnderWay) void this.#traffic.home(() => this.send())
    }
    call.onOver(ended)
    return ended
  }
}
