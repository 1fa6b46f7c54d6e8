import type { SubscriberListener } from '@leasehold/core/redis'
import { ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ReleaseFeed } from './release-feed.ts'

/** One attempt to connect, as the adapter sees it. */
interface Attempt {
  readonly listener: SubscriberListener
  readonly signal: AbortSignal
  readonly connected: () => void
  readonly fail: (message: string) => void
  readonly patterns: string[]
  /** Whether the server confirms from now on; or the error with which it refuses. */
  answers: boolean | Error
  hasFailed: boolean
  closed: boolean
}

let clock: ManualClock
let attempts: Attempt[]
let told: string[]
let feed: ReleaseFeed
beforeEach(() => {
  clock = new ManualClock()
  attempts = []
  told = []
  const subscriber = {
    connect: (listener: SubscriberListener, signal: AbortSignal) =>
      new Promise<never>((resolve, reject) => {
        const attempt: Attempt = {
          listener,
          signal,
          connected: () => resolve(connection as never),
          fail: (message) => {
            attempt.hasFailed = true
            reject(new Error(message))
          },
          patterns: [],
          answers: true,
          hasFailed: false,
          closed: false,
        }
        const connection = {
          psubscribe: (pattern: string) => {
            attempt.patterns.push(pattern)
            if (attempt.answers instanceof Error) return Promise.reject(attempt.answers)
            return attempt.answers ? Promise.resolve() : new Promise<void>(() => undefined)
          },
          close: () => {
            attempt.closed = true
          },
        }
        attempts.push(attempt)
      }),
  }
  feed = new ReleaseFeed(subscriber, clock, 'l*ck:', {
    released: (key) => told.push(key),
    turn: (key, waiter) => told.push(`${key}: turn of ${waiter}`),
    listening: () => told.push('(listening)'),
    disconnected: ({ message }) => told.push(`(disconnected) ${message}`),
  })
})
afterEach(async () => {
  feed.close()
  expect(clock.pending).toBe(0)
  await clock.advance(0)
  expect(attempts.filter(({ closed, hasFailed, signal }) => !closed && !hasFailed && !signal.aborted)).toEqual([])
})

const attempt = (index: number): Attempt => attempts[index] as Attempt

async function listening(): Promise<Attempt> {
  feed.start()
  attempt(0).connected()
  await clock.advance(0)
  return attempt(0)
}

test('connects once it is started, and hears the releases under its prefix', async () => {
  expect(attempts).toEqual([])
  const { listener, patterns } = await listening()
  expect(patterns).toEqual(['l\\*ck:release:*'])
  listener.message('l*ck:release:a:b', 'released 1')
  listener.message('other:release:a', 'released 1')
  expect(told).toEqual(['(listening)', 'a:b'])
})

test('connects again after a loss, and says when it hears nothing', async () => {
  const first = await listening()
  first.listener.lost(new Error('read ECONNRESET'))
  first.listener.message('l*ck:release:late', '')
  const loss = '(disconnected) The connection that listens was lost: read ECONNRESET'
  expect(told).toEqual(['(listening)', loss])
  await clock.advance(50)
  attempt(1).connected()
  await clock.advance(0)
  expect(told).toEqual(['(listening)', loss, '(listening)'])
})

test('a connection that is silent is dead when it does not confirm any more', async () => {
  const first = await listening()
  await clock.advance(60_000)
  expect(told).toEqual(['(listening)'])
  first.answers = false
  await clock.advance(7_000)
  expect(told).toEqual([
    '(listening)',
    '(disconnected) The connection that listens was lost: The connection has not answered for 2000 ms',
  ])
  expect(first.closed).toBe(true)
})

test('tries again after each failure, with pauses up to a second, and not faster', async () => {
  feed.start()
  for (let tries = 0; tries < 60; tries++) {
    attempts.at(-1)?.fail('connect ECONNREFUSED 127.0.0.1:6379')
    await clock.advance(500)
  }
  expect(attempts.length).toBeGreaterThan(25)
  expect(attempts.length).toBeLessThan(70)
})

test('says after each failed attempt why it hears nothing, and knows the last reason until it listens', async () => {
  feed.start()
  expect(feed.problem).toBeUndefined()
  attempt(0).fail('connect ECONNREFUSED 127.0.0.1:6379')
  await clock.advance(100)
  const refused = new Error("NOPERM this user has no permissions to run the 'psubscribe' command")
  attempt(1).answers = refused
  attempt(1).connected()
  await clock.advance(0)
  expect(told).toEqual([
    '(disconnected) Redis cannot be reached: connect ECONNREFUSED 127.0.0.1:6379',
    `(disconnected) Redis refuses the subscription: ${refused.message}`,
  ])
  expect(feed.problem?.publicMessage).toBe("Redis refuses the subscription: NOPERM, for the 'psubscribe' command")
  attempt(1).answers = true
  await clock.advance(50)
  expect(feed.problem).toBeUndefined()
  expect(told[2]).toBe('(listening)')
})

test('asks again for a subscription that Redis refuses, on the same connection, with pauses up to a second', async () => {
  feed.start()
  attempt(0).answers = new Error('NOPERM')
  attempt(0).connected()
  await clock.advance(30_000)
  expect(attempts).toHaveLength(1)
  expect(attempt(0).patterns.length).toBeGreaterThan(30)
  expect(attempt(0).patterns.length).toBeLessThan(70)
  expect(new Set(told)).toEqual(new Set(['(disconnected) Redis refuses the subscription: NOPERM']))
  expect(told).toHaveLength(attempt(0).patterns.length)
})

test('a permission that is withdrawn is noticed when the subscription has to be confirmed again', async () => {
  const first = await listening()
  first.answers = new Error('NOPERM')
  await clock.advance(5_000)
  expect(told).toEqual(['(listening)', '(disconnected) Redis refuses the subscription: NOPERM'])
  expect(feed.isListening).toBe(false)
})

test('gives an attempt up that does not end, and closes a connection that comes too late', async () => {
  feed.start()
  await clock.advance(5_000)
  expect(attempt(0).signal.aborted).toBe(true)
  await clock.advance(50)
  attempt(0).connected()
  await clock.advance(0)
  expect(attempt(0).closed).toBe(true)
  expect(told).toEqual(['(disconnected) Redis cannot be reached: There was no connection within 5000 ms'])
})

test('whoever waits for it is answered when it listens, when the time is up, and when they leave', async () => {
  const answers: string[] = []
  const client = new AbortController()
  const { signal } = new AbortController()
  void feed.whenListening(100, signal).then((is) => answers.push(`short ${is}`))
  void feed.whenListening(10_000, client.signal).then((is) => answers.push(`gone ${is}`))
  void feed.whenListening(10_000, signal).then((is) => answers.push(`long ${is}`))
  await clock.advance(100)
  client.abort()
  await clock.advance(0)
  attempt(0).connected()
  await clock.advance(0)
  expect(answers).toEqual(['short false', 'gone false', 'long true'])
})
