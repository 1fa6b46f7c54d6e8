import { beforeEach, expect, test } from 'vitest'
import type { Topic, TopicListener } from './gateway-redis.ts'
import { sharedSubscriptions } from './shared-subscriptions.ts'

/** What the gateway asks its adapter for, and how the adapter would answer. */
let asked: { topic: Topic; listener: TopicListener; ended: boolean }[]
let subscribe: ReturnType<typeof sharedSubscriptions>
let told: string[]
beforeEach(() => {
  asked = []
  told = []
  subscribe = sharedSubscriptions({
    subscribe(topic, listener) {
      const entry = { topic, listener, ended: false }
      asked.push(entry)
      return () => {
        expect(entry.ended).toBe(false)
        entry.ended = true
      }
    },
  })
})

const listener = (name: string): TopicListener => ({
  confirmed: () => told.push(`${name} confirmed`),
  lost: () => told.push(`${name} lost`),
  refused: (error) => told.push(`${name} refused ${error}`),
  message: (_, payload) => told.push(`${name} ${payload}`),
})
const channel = { pattern: false, name: 'a' }
const upstream = (index: number): TopicListener => asked[index]?.listener as TopicListener

test('two that want the same topic ask for it once, and the last to leave ends it', () => {
  const leaveOne = subscribe(channel, listener('one'))
  const leaveTwo = subscribe({ ...channel }, listener('two'))
  expect(asked).toHaveLength(1)
  upstream(0).confirmed()
  upstream(0).message('a', 'x')
  leaveOne()
  leaveOne()
  upstream(0).message('a', 'y')
  expect(told).toEqual(['one confirmed', 'two confirmed', 'one x', 'two x', 'two y'])
  expect(asked[0]?.ended).toBe(false)
  leaveTwo()
  expect(asked[0]?.ended).toBe(true)
})

test('a channel and a pattern of the same name are two topics', () => {
  subscribe(channel, listener('channel'))
  subscribe({ ...channel, pattern: true }, listener('pattern'))
  expect(asked.map(({ topic }) => topic.pattern)).toEqual([false, true])
})

test('who comes while it is confirmed is told at once, and not while the connection is lost', () => {
  subscribe(channel, listener('one'))
  upstream(0).confirmed()
  subscribe(channel, listener('two'))
  upstream(0).lost()
  subscribe(channel, listener('three'))
  expect(told).toEqual(['one confirmed', 'two confirmed', 'one lost', 'two lost'])
  upstream(0).confirmed()
  expect(told.slice(4)).toEqual(['one confirmed', 'two confirmed', 'three confirmed'])
})

test('who comes after the last one left asks anew, and late answers to the former are not for it', () => {
  subscribe(channel, listener('one'))()
  const leave = subscribe(channel, listener('two'))
  expect(asked).toHaveLength(2)
  upstream(0).confirmed()
  expect(told).toEqual([])
  upstream(1).confirmed()
  expect(told).toEqual(['two confirmed'])
  leave()
  expect(asked.map(({ ended }) => ended)).toEqual([true, true])
})

test('a refused topic is forgotten: nothing is left to end, and the next one asks anew', () => {
  const leave = subscribe(channel, listener('one'))
  upstream(0).refused('NOPERM')
  leave()
  expect(told).toEqual(['one refused NOPERM'])
  expect(asked[0]?.ended).toBe(false)
  subscribe(channel, listener('two'))
  expect(asked).toHaveLength(2)
})

test('one that leaves while it is being told does not keep the others from being told', () => {
  const leave = subscribe(channel, { ...listener('one'), message: () => leave() })
  subscribe(channel, listener('two'))
  upstream(0).message('a', 'x')
  expect(told).toEqual(['two x'])
})
