import { beforeEach, expect, test } from 'vitest'
import type { Topic, TopicSubscriber } from './gateway-redis.ts'
import { sharedSubscriptions } from './shared-subscriptions.ts'

/** The subscriptions that the gateway requests from its adapter, with the subscriber for the adapter's answers. */
let asked: { topic: Topic; subscriber: TopicSubscriber; ended: boolean }[]
let subscribe: ReturnType<typeof sharedSubscriptions>
let told: string[]
beforeEach(() => {
  asked = []
  told = []
  subscribe = sharedSubscriptions({
    subscribe(topic, subscriber) {
      const entry = { topic, subscriber, ended: false }
      asked.push(entry)
      return () => {
        expect(entry.ended).toBe(false)
        entry.ended = true
      }
    },
  })
})

const subscriber = (name: string): TopicSubscriber => ({
  confirmed: () => told.push(`${name} confirmed`),
  lost: () => told.push(`${name} lost`),
  refused: (error) => told.push(`${name} refused ${error}`),
  message: (_, payload) => told.push(`${name} ${payload}`),
})
const channel = { pattern: false, name: 'a' }
const upstream = (index: number): TopicSubscriber => asked[index]?.subscriber as TopicSubscriber

test('two that want the same topic ask for it once, and the last to leave ends it', () => {
  const leaveOne = subscribe(channel, subscriber('one'))
  const leaveTwo = subscribe({ ...channel }, subscriber('two'))
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
  subscribe(channel, subscriber('channel'))
  subscribe({ ...channel, pattern: true }, subscriber('pattern'))
  expect(asked.map(({ topic }) => topic.pattern)).toEqual([false, true])
})

test('who comes while it is confirmed is told at once, and not while the connection is lost', () => {
  subscribe(channel, subscriber('one'))
  upstream(0).confirmed()
  subscribe(channel, subscriber('two'))
  upstream(0).lost()
  subscribe(channel, subscriber('three'))
  expect(told).toEqual(['one confirmed', 'two confirmed', 'one lost', 'two lost'])
  upstream(0).confirmed()
  expect(told.slice(4)).toEqual(['one confirmed', 'two confirmed', 'three confirmed'])
})

test('who comes after the last one left asks anew, and late answers to the former are not for it', () => {
  subscribe(channel, subscriber('one'))()
  const leave = subscribe(channel, subscriber('two'))
  expect(asked).toHaveLength(2)
  upstream(0).confirmed()
  expect(told).toEqual([])
  upstream(1).confirmed()
  expect(told).toEqual(['two confirmed'])
  leave()
  expect(asked.map(({ ended }) => ended)).toEqual([true, true])
})

test('a refused topic is forgotten: nothing is left to end, and the next one asks anew', () => {
  const leave = subscribe(channel, subscriber('one'))
  upstream(0).refused('NOPERM')
  leave()
  expect(told).toEqual(['one refused NOPERM'])
  expect(asked[0]?.ended).toBe(false)
  subscribe(channel, subscriber('two'))
  expect(asked).toHaveLength(2)
})

test('one that leaves while it is being told does not keep the others from being told', () => {
  const leave = subscribe(channel, { ...subscriber('one'), message: () => leave() })
  subscribe(channel, subscriber('two'))
  upstream(0).message('a', 'x')
  expect(told).toEqual(['two x'])
})
