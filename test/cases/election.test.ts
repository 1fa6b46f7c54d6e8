import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { leaderOf } from '@leasehold/core/election'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'
import type { LeaderNews, LeaderOrder } from '../support/leader-worker.ts'
import { eventually, limit, ms } from '../support/scale.ts'

/*
 * Several processes stand for election. The leader is killed, frozen, cut off and started again, and the guarded writes
 * of two leaders never mix.
 */

const program = new URL('../support/leader-worker.ts', import.meta.url)
const ttl = ms(5_000, 1_500)

type Told<T extends LeaderNews['type']> = Extract<LeaderNews, { readonly type: T }>

class Candidate {
  readonly name: string
  readonly news: LeaderNews[] = []
  readonly #child: ChildProcess

  constructor(name: string) {
    const args = [arena.server.url, arena.prefix, name, String(ttl)]
    this.name = name
    this.#child = fork(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child.on('message', (news: LeaderNews) => this.news.push(news))
    candidates.push(this)
  }

  of<T extends LeaderNews['type']>(type: T): readonly Told<T>[] {
    return this.news.filter((each): each is Told<T> => each.type === type)
  }

  /** The fences of its terms, the latest last. */
  get terms(): readonly number[] {
    return this.of('elected').map(({ fence }) => fence)
  }

  /** Resolves when it has reported that so many times. */
  async has(type: LeaderNews['type'], times = 1): Promise<void> {
    await eventually(() => this.of(type).length >= times)
  }

  send(order: LeaderOrder): void {
    this.#child.send(order)
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
}

let arena: RedisArena
let candidates: Candidate[]
beforeEach(async () => {
  candidates = []
  arena = await redisArena()
})
afterEach(async () => {
  await Promise.all(candidates.map((each) => each.end()))
  await arena[Symbol.asyncDispose]()
})

/** A leader at work, and others who wait. */
async function elected(others: number): Promise<[Candidate, ...Candidate[]]> {
  const first = new Candidate('first')
  await first.has('wrote')
  const waiting = Array.from({ length: others }, (_, at) => new Candidate(`other-${at}`))
  await Promise.all(waiting.map((each) => each.has('campaigning')))
  return [first, ...waiting]
}

/** Resolves with whichever of them leads first. */
async function successor(of: readonly Candidate[]): Promise<Candidate> {
  await eventually(() => of.some(({ terms }) => terms.length > 0))
  return of.find(({ terms }) => terms.length > 0) as Candidate
}

it('a leader that is killed is replaced by one of the others, within its ttl', async () => {
  const [first, ...others] = await elected(3)
  first.kill('SIGKILL')
  const since = performance.now()
  const next = await successor(others)
  expect(performance.now() - since).toBeLessThan(ttl + limit(500))
  expect(next.terms[0]).toBeGreaterThan(first.terms[0] as number)
  await next.has('wrote')
  expect(others.filter(({ terms }) => terms.length > 0)).toEqual([next])
})

it('a leader that is started again under its name is another, whether or not it leads again', async () => {
  const [first] = await elected(0)
  first.kill('SIGKILL')
  const again = new Candidate('first')
  await again.has('wrote')
  expect(again.terms[0]).toBeGreaterThan(first.terms[0] as number)
  const leader = await leaderOf(arena.client(), 'leader')
  expect(leader).toMatchObject({ name: 'first', fence: again.terms[0] })
})

it('a leader that was frozen is told when it wakes, and none of its late writes passes the guard', async () => {
  const [first, other] = (await elected(1)) as [Candidate, Candidate]
  first.kill('SIGSTOP')
  await other.has('wrote')
  const before = first.of('wrote').length
  first.kill('SIGCONT')
  await first.has('told')
  await first.has('campaigning', 2)
  // Whichever it noticed first: its clock, a renewal that stayed unanswered meanwhile, or the answer to one.
  expect(['expired', 'unreachable', 'superseded']).toContain(first.of('lost')[0]?.reason)
  // One write may have been in flight when it was frozen, and its answer has waited.
  const late = first.of('wrote').slice(before + 1)
  expect(late.length).toBeGreaterThan(0)
  expect(late.map(({ stored }) => stored)).toEqual(late.map(() => false))
  expect(other.of('wrote').map(({ stored }) => stored)).not.toContain(false)
  expect(first.terms).toHaveLength(1)
})

it('a leader that resigns or is stopped is followed at once, and only the first stands again', async () => {
  const [first, other] = (await elected(1)) as [Candidate, Candidate]
  const since = performance.now()
  first.send('resign')
  await other.has('elected')
  expect(performance.now() - since).toBeLessThan(limit(500))
  await first.has('campaigning', 2)
  other.send('stop')
  await first.has('elected', 2)
  await other.has('ended')
  expect(other.of('campaigning')).toHaveLength(1)
  expect([first, other].flatMap((each) => each.of('resigned')).map(({ outcome }) => outcome)).toEqual([
    'released',
    'released',
  ])
})

describe('a store that falls silent', () => {
  it('costs the leader its term before its lease is over, and gives one of them the next when it answers', async () => {
    const [first, other] = (await elected(1)) as [Candidate, Candidate]
    arena.server.pause()
    await first.has('told')
    // Its work is told before anybody else is.
    await first.has('lost')
    expect(first.of('lost')).toMatchObject([{ reason: 'unreachable' }])
    arena.server.resume()
    await eventually(() => first.terms.length + other.terms.length === 2)
    expect(Math.max(...first.terms, ...other.terms)).toBeGreaterThan(first.terms[0] as number)
    for (const each of [first, other]) expect(each.of('ended')).toEqual([])
  })
})
