import { homeContext, sharesBetweenCalls } from '#sharing'
import { mostPerCommand, quietMicrotasks } from '../store/figures.ts'
import type { Unknown } from '../store/lease-store.ts'
import { Call, type CallDeadline } from '../timing/call-deadline.ts'

/** Sends requests as one command to each node, and resolves with an outcome for each. */
type Run<R, O> = (requests: readonly R[], call: CallDeadline) => Promise<readonly O[]>

interface Try<R, O> {
  readonly request: R
  readonly call: CallDeadline
  resolve(outcome: O | Unknown): void
  reject(error: unknown): void
}

/**
 * Lets tries of one turn for locks on one node share a command, as tries for plain locks do. They share it with nothing
 * else: on a full server, a try would fail the releases behind it.
 *
 * A try whose caller has given up before the command leaves is not sent. Tries whose deadlines differ by more than a
 * factor of two are sent separately.
 */
export function jointTries<R extends { readonly key: string }, O>(
  nodeOf: (key: string) => string,
  run: Run<R, O>,
): (request: R, call: CallDeadline) => Promise<O | Unknown> {
  const home = homeContext()
  /** Tries not sent yet, by node. */
  const open = new Map<string, Try<R, O>[]>()

  /**
   * Sends the tries after a few microtasks that brought no further one: the calls of one turn follow each other one by
   * one.
   */
  async function leave(node: string, tries: Try<R, O>[]): Promise<void> {
    for (let seen = 0, quiet = 0; quiet <= quietMicrotasks; quiet++) {
      if (tries.length > seen) quiet = 0
      seen = tries.length
      await undefined
    }
    if (open.get(node) === tries) open.delete(node)
    // What callers share runs in no caller's async context.
    if (tries.length > 1) void home(() => send(tries))
    else send(tries)
  }

  function send(tries: readonly Try<R, O>[]): void {
    const left = tries.filter(({ call }) => !call.isOver)
    for (const each of tries) if (!left.includes(each)) each.resolve(notSent)
    const [first] = left
    if (!first) return
    const settle = (outcomes: readonly O[]): void => {
      for (const [at, each] of left.entries()) each.resolve(outcomes[at] as O)
    }
    // One bad request must not cost the others their answer.
    const reject = (error: unknown): void => {
      if (left.length === 1) first.reject(error)
      else for (const each of left) send([each])
    }
    run(
      left.map(({ request }) => request),
      left.length > 1 ? callOf(left) : first.call,
    ).then(settle, reject)
  }

  return (request, call) =>
    new Promise((resolve, reject) => {
      const one = { request, call, resolve, reject }
      if (!sharesBetweenCalls()) return send([one])
      const node = nodeOf(request.key)
      const tries = open.get(node)
      if (tries && tries.length < mostPerCommand && tries.every((each) => areAlike(each.call, call))) tries.push(one)
      else {
        const made = [one]
        open.set(node, made)
        void leave(node, made)
      }
    })
}

const areAlike = (one: CallDeadline, other: CallDeadline): boolean =>
  Math.max(one.withinMs, other.withinMs) <= 2 * Math.min(one.withinMs, other.withinMs)

/** The joint call of several tries: it has the shortest of their deadlines, and is over once all of them are. */
function callOf(tries: readonly { readonly call: CallDeadline }[]): CallDeadline {
  const joint = new Call(Math.min(...tries.map(({ call }) => call.withinMs)))
  let over = 0
  for (const { call } of tries) {
    call.onOver(() => {
      if (++over === tries.length) joint.end()
    })
  }
  return joint
}

const notSent: Unknown = { type: 'unknown', executed: 'no' }
