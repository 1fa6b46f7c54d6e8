import {
  answered,
  callUntil,
  type Fate,
  follow,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  type Settlement,
  seededRandom,
  unavailable,
} from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { type QueueingProcess, queueing } from '../../test/queueing.ts'
import { type Lease, LeaseholdError } from '../index.ts'
import { fifo, priority, queueOf } from './index.ts'

/** What goes wrong in a run. */
interface Weather {
  /** The share of messages that are lost. */
  readonly messages: number
  /** The share of requests that go wrong. */
  readonly requests: number
  /** Whether processes fall silent for a while: nothing that they send arrives, and they hear nothing. */
  readonly freezes: boolean
}

/** A network on which some calls go wrong: they or their answers are lost, late or duplicated. */
function unreliable(random: () => number, share: number): Fate {
  return (sending) => {
    const what = random() / share
    const lateMs = random() * 3_000
    if (what < 0.2) return replyLost(sending)
    if (what < 0.4) return requestLost(sending)
    if (what < 0.6) return replyAfter(lateMs)(sending)
    if (what < 0.8) return requestAfter(lateMs)(sending)
    if (what < 0.9) return unavailable(random() < 0.5 ? 'no' : 'unknown')(sending)
    if (what < 1) {
      sending.clock.schedule(() => void sending.execute(), lateMs)
      return answered(sending)
    }
    return answered(sending)
  }
}

const calls = ['queue.acquire', 'queue.look', 'queue.leave', 'queue.release', 'acquire', 'release', 'renew'] as const

/** Processes queue for one lock for a while, then come to rest. Resolves with what could be seen from outside. */
async function contend(random: () => number, { messages, requests, freezes }: Weather) {
  const { clock, memory, process } = queueing()
  const processes = [process(), process(), process(), process(), process()]
  const weather = (one: QueueingProcess): void => {
    for (const call of calls) one.store.always(call, unreliable(random, requests))
    one.hears = () => random() >= messages
  }
  for (const one of processes) weather(one)
  const acquiring: Settlement<Lease>[] = []
  const granted: Lease[] = []
  const held = new Set<Lease>()
  let mostTrusted = 0

  const collect = (): void => {
    const news = acquiring.filter(({ value }) => value && !granted.includes(value))
    for (const { value } of news.sort((a, b) => Number(a.atMs) - Number(b.atMs))) {
      granted.push(value as Lease)
      held.add(value as Lease)
    }
    mostTrusted = Math.max(mostTrusted, granted.filter((lease) => lease.remaining() > 0).length)
  }
  const giveBack = (share: number): void => {
    for (const lease of held) {
      if (random() >= share) continue
      held.delete(lease)
      follow(lease.release(), clock)
    }
  }

  for (let step = 0; step < 400; step++) {
    const one = processes[Math.trunc(random() * processes.length)] as QueueingProcess
    if (random() < 0.25) {
      const stop = new AbortController()
      if (random() < 0.2) clock.schedule(() => stop.abort(changedMind), random() * 3_000)
      const queue = random() < 0.5 ? fifo() : priority(1 + Math.trunc(random() * 3))
      const ttl = 1_000 + random() * 5_000
      const wait = random() < 0.1 ? 0 : '5m'
      acquiring.push(one.queue({ queue, ttl, wait, renew: random() < 0.7, signal: stop.signal }))
    }
    if (freezes && random() < 0.02) {
      one.isDeaf = true
      for (const call of calls) one.store.always(call, requestLost)
      const thaw = (): void => {
        one.isDeaf = false
        weather(one)
      }
      clock.schedule(thaw, random() * 8_000)
    }
    giveBack(0.6)
    await clock.advance(random() * 100)
    collect()
  }
  for (let round = 0; round < 600 && (held.size > 0 || acquiring.some(({ state }) => state === 'pending')); round++) {
    giveBack(1)
    await clock.advance(500)
    collect()
  }
  giveBack(1)
  // A late duplicate of a request may enter a waiter that has gone, when nobody is left.
  await clock.advance(120_000)
  const state = await queueOf(memory)?.inspect('k', callUntil(new AbortController().signal))
  return { acquiring, granted, mostTrusted, timers: clock.timers, state }
}

const changedMind = 'changed my mind'

const weathers: readonly (readonly [string, Weather])[] = [
  ['in calm weather', { messages: 0, requests: 0, freezes: false }],
  ['with every message lost', { messages: 1, requests: 0, freezes: false }],
  ['on a bad network', { messages: 0.3, requests: 0.15, freezes: false }],
  ['with processes that freeze', { messages: 0.3, requests: 0.05, freezes: true }],
]

describe.each(weathers)('a queue %s', (_, weather) => {
  it.each([1, 2, 3])('has one holder at a time, serves everybody, and leaves nothing (run %d)', async () => {
    const { random, seed } = seededRandom()
    const { acquiring, granted, mostTrusted, timers, state } = await contend(random, weather)
    expect(granted.length, `seed ${seed}`).toBeGreaterThan(20)
    expect(mostTrusted, `seed ${seed}`).toBe(1)
    const fences = granted.map(({ fence }) => fence)
    expect(fences, `seed ${seed}`).toEqual([...new Set(fences)].sort((a, b) => a - b))
    for (const { state: how, reason } of acquiring) {
      expect(how, `seed ${seed}`).not.toBe('pending')
      if (how === 'rejected' && reason !== changedMind) {
        expect(reason, `seed ${seed}`).toBeInstanceOf(LeaseholdError)
        // Only a call that does not wait may end without the lock.
        expect((reason as { waitedMs?: number }).waitedMs ?? 0, `seed ${seed}`).toBeLessThan(10_000)
      }
    }
    expect(timers, `seed ${seed}`).toEqual([])
    expect(state, `seed ${seed}`).toMatchObject({ kind: null, holders: [], waiters: [], waiting: 0 })
  })
})
