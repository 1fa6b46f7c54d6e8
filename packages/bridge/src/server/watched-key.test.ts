import { ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CheckReason } from './bridge-events.ts'
import { FairTurns } from './fair-turns.ts'
import type { Follower } from './followers.ts'
import type { Check, Seen } from './paced-check.ts'
import type { WaitAnswer, WaitRequest } from './poll-queue.ts'
import { WatchedKey } from './watched-key.ts'

let clock: ManualClock
let key: WatchedKey
/** What a check sees; a function is called at the time of the check. */
let lock: Seen | (() => Promise<Seen>)
let checks: CheckReason[]
let idle: number
beforeEach(() => {
  clock = new ManualClock()
  checks = []
  idle = 0
  lock = held('1')
  const check: Check = async (_, reason) => {
    checks.push(reason)
    return typeof lock === 'function' ? lock() : lock
  }
  key = new WatchedKey('a', { clock, check, turns: new FairTurns(clock) }, () => idle++)
})
afterEach(async () => {
  key.dismiss()
  expect(clock.pending).toBe(0)
})

const held = (cursor: string, expiresInMs: number | null = 10_000): Seen => ({
  type: 'checked',
  changed: false,
  cursor,
  expiresInMs,
})
const free: Seen = { type: 'checked', changed: true, cursor: '-', expiresInMs: null }

interface TestPoll {
  readonly answers: WaitAnswer[]
  leave(): void
}

function poll(cursor: string, request: Partial<WaitRequest> = {}): TestPoll {
  const answers: WaitAnswer[] = []
  const client = new AbortController()
  const given = { cursor, timeoutMs: 25_000, forResult: false, gone: client.signal, ...request }
  void key.wait(given).then((answer) => answers.push(answer))
  return { answers, leave: () => client.abort() }
}

const follow = (): { told: string[]; stop: () => void } => {
  const told: string[] = []
  const follower: Follower = {
    state: ({ held, cursor, expiresInMs }) => told.push(`${held ? 'held' : 'free'} ${cursor} ${expiresInMs}`),
    released: () => told.push('release'),
    unavailable: () => told.push('unavailable'),
  }
  return { told, stop: key.follow(follower) }
}

const changed = [{ type: 'changed' }]

describe('a long poll', () => {
  test('is answered at once when the lock is free', async () => {
    lock = free
    const { answers } = poll('1')
    await clock.advance(0)
    expect(answers).toEqual(changed)
    expect(checks).toEqual(['first-waiter'])
  })

  test('waits while the lock is held, and is told the present cursor when its time is up', async () => {
    lock = held('2', null)
    const { answers } = poll('1')
    await clock.advance(24_999)
    expect(answers).toEqual([])
    await clock.advance(1)
    expect(answers).toEqual([{ type: 'unchanged', cursor: '2' }])
    expect(checks).toEqual(['first-waiter'])
    expect(idle).toBe(1)
  })

  test('hears of a release that comes before the check is answered, and what was seen then is not believed', async () => {
    let answer = (_: Seen): void => undefined
    lock = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    const [first, second] = [poll('1'), poll('1')]
    await clock.advance(10)
    key.released()
    await clock.advance(0)
    expect(first.answers).toEqual(changed)
    lock = held('2')
    answer(held('1', 60_000))
    await clock.advance(240)
    expect(checks).toEqual(['first-waiter', 'first-waiter'])
    expect(second.answers).toEqual([])
  })

  test('of the longest-waiting is answered by a release, and no other', async () => {
    const polls = [poll('1'), poll('1'), poll('1')]
    await clock.advance(0)
    key.released()
    lock = held('2')
    await clock.advance(5_000)
    expect(polls.map(({ answers }) => answers.length)).toEqual([1, 0, 0])
    expect(checks).toEqual(['first-waiter', 'passed-on'])
  })

  test('that does not take the lock within 500 ms is passed over, and the next offer is to twice as many', async () => {
    const polls = Array.from({ length: 40 }, () => poll('1'))
    await clock.advance(1_000)
    lock = free
    key.released()
    const answered = (): number => polls.filter(({ answers }) => answers.length > 0).length
    await clock.advance(499)
    expect(answered()).toBe(1)
    await clock.advance(1)
    expect(answered()).toBe(1 + 2)
    for (const count of [7, 15, 31, 40]) {
      await clock.advance(500)
      expect(answered()).toBe(count)
    }
    expect(polls.every(({ answers }) => answers[0]?.type === 'changed')).toBe(true)
    expect(checks).toEqual(['first-waiter', ...Array(5).fill('passed-on')])
  })

  test.each([
    ['a release is heard', () => key.released()],
    ['the lock was seen to be held', () => undefined],
  ])('is the only one to get an offer again once %s', async (_, happens) => {
    const polls = Array.from({ length: 40 }, () => poll('1'))
    const answered = (): number => polls.filter(({ answers }) => answers.length > 0).length
    await clock.advance(1_000)
    lock = free
    key.released()
    await clock.advance(1_000)
    expect(answered()).toBe(7)
    lock = held('2')
    happens()
    await clock.advance(500)
    const before = answered()
    lock = free
    key.released()
    await clock.advance(499)
    expect(answered()).toBe(before + 1)
    await clock.advance(1)
    expect(answered()).toBe(before + 3)
  })

  test('is the only one to get an offer when a lease has expired, though the offer before was to many', async () => {
    const polls = Array.from({ length: 40 }, () => poll('1'))
    const answered = (): number => polls.filter(({ answers }) => answers.length > 0).length
    await clock.advance(1_000)
    lock = free
    key.released()
    await clock.advance(1_000)
    expect(answered()).toBe(7)
    lock = held('2', 2_000)
    await clock.advance(500)
    lock = free
    await clock.advance(2_001)
    expect(answered()).toBe(8)
  })

  test('of others that come all the time while the lock is free does not keep the lock from being offered to the one that has waited longest', async () => {
    const polls = [poll('1'), poll('1')]
    await clock.advance(1_000)
    lock = free
    key.released()
    for (let at = 0; at < 500; at += 100) {
      poll('1')
      await clock.advance(100)
    }
    await clock.advance(100)
    expect(polls.map(({ answers }) => answers.length)).toEqual([1, 1])
  })

  test('whose connection is found closed when it is answered passes the wake-up on at once', async () => {
    const [first, second] = [poll('1'), poll('1')]
    await clock.advance(1_000)
    lock = free
    key.released()
    first.leave()
    await clock.advance(0)
    expect(second.answers).toEqual(changed)
  })

  test('whose client has left is not the one that is woken', async () => {
    const [first, second] = [poll('1'), poll('1')]
    await clock.advance(0)
    first.leave()
    key.released()
    await clock.advance(0)
    expect(first.answers).toEqual([{ type: 'gone' }])
    expect(second.answers).toEqual(changed)
  })

  test('is answered when the time of the holder has run out and a check finds the lock free', async () => {
    lock = held('1', 2_000)
    const { answers } = poll('1')
    await clock.advance(0)
    lock = free
    await clock.advance(2_000)
    expect(answers).toEqual([])
    await clock.advance(1)
    expect(answers).toEqual(changed)
    expect(checks).toEqual(['first-waiter', 'expiry'])
  })

  test('costs one check for each remaining time that was seen, of a holder that renews', async () => {
    lock = held('1', 3_000)
    poll('1')
    await clock.advance(24_000)
    expect(checks).toEqual(['first-waiter', ...Array(7).fill('expiry')])
  })

  test('costs no more than one check in 250 ms, however short the holders', async () => {
    lock = held('1', 0)
    poll('1')
    await clock.advance(1_000)
    expect(checks).toHaveLength(5)
  })

  test('with the cursor of the present holder costs no check, and one with another does', async () => {
    poll('1', { timeoutMs: 1_000 })
    await clock.advance(1_000)
    poll('1', { timeoutMs: 1_000 })
    await clock.advance(1_000)
    expect(checks).toEqual(['first-waiter'])
    lock = held('2')
    poll('2')
    await clock.advance(0)
    expect(checks).toEqual(['first-waiter', 'first-waiter'])
  })

  test('that comes again after a release that nobody waited for is answered by a check', async () => {
    poll('1', { timeoutMs: 1_000 })
    await clock.advance(1_000)
    key.released()
    lock = free
    const { answers } = poll('1')
    await clock.advance(0)
    expect(answers).toEqual(changed)
  })

  test('that comes again after the time of the holder has run out is answered by a check', async () => {
    lock = held('1', 2_000)
    poll('1', { timeoutMs: 1_000 })
    await clock.advance(3_000)
    lock = free
    const { answers } = poll('1')
    await clock.advance(0)
    expect(answers).toEqual(changed)
  })

  test('hundred that come together cost one check, and all are answered if the lock is free', async () => {
    lock = free
    const polls = Array.from({ length: 100 }, () => poll('1'))
    await clock.advance(0)
    expect(polls.every(({ answers }) => answers.length === 1)).toBe(true)
    expect(checks).toEqual(['first-waiter'])
  })

  test('whose check is still to come when a release is heard waits in line like the others', async () => {
    const polls = [poll('1')]
    await clock.advance(100)
    polls.push(poll('2'), poll('3'), poll('4'))
    key.released()
    lock = free
    await clock.advance(499)
    expect(polls.map(({ answers }) => answers.length)).toEqual([1, 0, 0, 0])
    await clock.advance(1)
    expect(polls.map(({ answers }) => answers.length)).toEqual([1, 1, 1, 0])
  })

  test('for a result is answered by a release, with all others of its kind, and takes no offer', async () => {
    const results = [poll('1', { forResult: true }), poll('1', { forResult: true })]
    const lockWaiters = [poll('1'), poll('1')]
    await clock.advance(0)
    key.released()
    await clock.advance(0)
    expect(results.map(({ answers }) => answers)).toEqual([changed, changed])
    expect(lockWaiters.map(({ answers }) => answers.length)).toEqual([1, 0])
  })

  test('is sent off when the store does not answer its first check; one that was parked stays', async () => {
    const parked = poll('1')
    await clock.advance(1_000)
    lock = { type: 'unavailable' }
    const fresh = poll('2')
    await clock.advance(0)
    expect(fresh.answers).toEqual([{ type: 'unavailable' }])
    expect(parked.answers).toEqual([])
    lock = free
    await clock.advance(1_000)
    expect(parked.answers).toEqual(changed)
  })

  test('is woken after a lost connection if the lock became free meanwhile', async () => {
    const { answers } = poll('1')
    await clock.advance(1_000)
    lock = free
    key.checkAgain(250)
    await clock.advance(250)
    expect(answers).toEqual(changed)
    expect(checks).toEqual(['first-waiter', 'reconnected'])
  })
})

describe('a stream', () => {
  test('opens with the state, and is told of every release', async () => {
    const { told } = follow()
    await clock.advance(0)
    key.released()
    expect(told).toEqual(['held 1 10000', 'release'])
    await clock.advance(50)
    key.released()
    expect(told).toEqual(['held 1 10000', 'release', 'release'])
  })

  test('is told of many releases at once and then each 50 ms, and of the last of them in any case', async () => {
    const { told } = follow()
    await clock.advance(0)
    for (let at = 0; at < 1_000; at += 5) {
      key.released()
      await clock.advance(5)
    }
    expect(told).toEqual(['held 1 10000', ...Array(21).fill('release')])
    await clock.advance(400)
    expect(told).toHaveLength(1 + 21)
    key.released()
    key.released()
    expect(told).toHaveLength(1 + 22)
    await clock.advance(50)
    expect(told).toHaveLength(1 + 23)
  })

  test('that comes between two releases is not told of the first', async () => {
    lock = held('1')
    follow()
    await clock.advance(1_000)
    key.released()
    await clock.advance(10)
    key.released()
    lock = held('2')
    poll('1')
    await clock.advance(0)
    const { told } = follow()
    await clock.advance(40)
    expect(told).toEqual(['held 2 10001'])
  })

  test('that comes after a release, while a check from before it is under way, is told that the lock is free', async () => {
    let answer = (_: Seen): void => undefined
    lock = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    follow()
    await clock.advance(10)
    key.released()
    const { told } = follow()
    lock = free
    answer(held('1', 60_000))
    await clock.advance(300)
    expect(told).toEqual(['held 1 60000', 'release'])
  })

  test('that comes while connections were lost and a check is under way is told of what that could not see', async () => {
    let answer = (_: Seen): void => undefined
    lock = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    const { told } = follow()
    await clock.advance(10)
    key.checkAgain(0)
    lock = free
    answer(held('1', 60_000))
    await clock.advance(250)
    expect(told).toEqual(['held 1 60000', 'release'])
  })

  test.each([
    ['when releases may have been missed', async () => key.checkAgain(250)],
    [
      'when a check in between had no answer',
      async () => {
        key.released()
        lock = { type: 'unavailable' }
        await clock.advance(500)
        lock = free
      },
    ],
  ])('that was told that the lock is free is told once more %s', async (_, happens) => {
    const { told } = follow()
    await clock.advance(1_000)
    lock = free
    key.released()
    await clock.advance(1_000)
    const before = told.length
    await happens()
    await clock.advance(50)
    const meanwhile = told.length
    await clock.advance(1_500)
    expect(told.length).toBe(meanwhile + 1)
    expect(before).toBe(2)
  })

  test('thousand of one key are told in turns, and those of other keys in between', async () => {
    const turns = new FairTurns(clock)
    const check = async (): Promise<Seen> => held('1')
    const [noisy, quiet] = ['noisy', 'quiet'].map(
      (name) => new WatchedKey(name, { clock, turns, check }, () => undefined),
    ) as [WatchedKey, WatchedKey]
    const told: string[] = []
    const followerOf = (name: string): Follower => ({
      state: () => undefined,
      released: () => told.push(name),
      unavailable: () => undefined,
    })
    for (let count = 0; count < 1_000; count++) noisy.follow(followerOf('noisy'))
    quiet.follow(followerOf('quiet'))
    await clock.advance(1_000)
    noisy.released()
    expect(told.length).toBeLessThanOrEqual(32)
    quiet.released()
    await clock.advance(0)
    expect(told.indexOf('quiet')).toBeLessThanOrEqual(33)
    expect(told).toHaveLength(1_001)
    for (const each of [noisy, quiet]) each.dismiss()
  })

  test('that comes while the holder is known costs no check', async () => {
    follow()
    await clock.advance(4_000)
    expect(follow().told).toEqual(['held 1 6001'])
    expect(checks).toEqual(['first-waiter'])
  })

  test('all streams are told of a release, and one poll', async () => {
    const streams = [follow(), follow(), follow()]
    const polls = [poll('1'), poll('1')]
    await clock.advance(0)
    key.released()
    await clock.advance(0)
    expect(streams.map(({ told }) => told.at(-1))).toEqual(['release', 'release', 'release'])
    expect(polls.map(({ answers }) => answers.length)).toEqual([1, 0])
  })

  test('is told when the time of the holder has run out', async () => {
    lock = held('1', 2_000)
    const { told } = follow()
    await clock.advance(0)
    lock = free
    await clock.advance(2_001)
    expect(told).toEqual(['held 1 2000', 'release'])
  })

  test('learns soon of the death of a holder that came after a release', async () => {
    lock = held('1', 60_000)
    const { told } = follow()
    await clock.advance(0)
    key.released()
    lock = held('2', 1_000)
    await clock.advance(500)
    lock = free
    await clock.advance(1_001)
    // The holder is reported, so that waiters whose tries were contended since can rely on it.
    expect(told).toEqual(['held 1 60000', 'release', 'held 2 1000', 'release'])
    expect(checks).toEqual(['first-waiter', 'passed-on', 'expiry'])
  })

  test('of a key that changes hands all the time is not checked for it', async () => {
    lock = held('1', 60_000)
    follow()
    await clock.advance(0)
    for (let release = 0; release < 100; release++) {
      key.released()
      await clock.advance(400)
    }
    expect(checks).toEqual(['first-waiter'])
  })

  test('of a free key costs nothing while it stays open', async () => {
    lock = free
    const { told } = follow()
    await clock.advance(60_000)
    expect(told).toEqual(['free - null'])
    expect(checks).toEqual(['first-waiter'])
    key.released()
    await clock.advance(60_000)
    expect(told).toEqual(['free - null', 'release'])
    expect(checks).toEqual(['first-waiter', 'passed-on'])
  })

  test('of a holder without expiry has no timer', async () => {
    lock = held('-', null)
    const { told } = follow()
    await clock.advance(0)
    expect(told).toEqual(['held - null'])
    expect(clock.pending).toBe(0)
  })

  test('ends when its state cannot be had; one that was told goes on', async () => {
    const first = follow()
    await clock.advance(0)
    key.released()
    lock = { type: 'unavailable' }
    await clock.advance(250)
    const second = follow()
    await clock.advance(0)
    expect(first.told).toEqual(['held 1 10000', 'release'])
    expect(second.told).toEqual(['unavailable'])
  })

  test('that is left is told nothing more', async () => {
    const { told, stop } = follow()
    await clock.advance(0)
    stop()
    stop()
    key.released()
    expect(told).toEqual(['held 1 10000'])
    expect(idle).toBe(1)
  })
})

describe('a check', () => {
  test('for which nobody waits any more when the store is to be asked is not wanted', async () => {
    let ask = (): boolean => true
    let asked = 0
    const check: Check = (_, __, wanted = () => true) =>
      new Promise((resolve) => {
        asked++
        ask = () => {
          const isWanted = wanted()
          resolve(isWanted ? held('1') : { type: 'unwanted' })
          return isWanted
        }
      })
    key = new WatchedKey('a', { clock, check, turns: new FairTurns(clock) }, () => idle++)
    const first = poll('1')
    first.leave()
    expect(ask()).toBe(false)
    const second = poll('1')
    // A poll that comes before the outcome is known gets its own check, and is not sent away.
    await clock.advance(250)
    expect([asked, second.answers]).toEqual([2, []])
    expect(ask()).toBe(true)
    await clock.advance(0)
    expect(second.answers).toEqual([])
  })
})

test('when everyone is sent off, no timer remains', async () => {
  const { told } = follow()
  const { answers } = poll('1')
  await clock.advance(100)
  key.dismiss()
  await clock.advance(0)
  expect(answers).toEqual([{ type: 'unavailable' }])
  expect(told).toEqual(['held 1 10000', 'unavailable'])
})
