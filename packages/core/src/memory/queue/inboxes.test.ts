import { expect, it } from 'vitest'
import { Inboxes } from './inboxes.ts'

const inbox = '5f0c'
const waiter = { inbox, number: 1, priorityClass: 0, listens: true, aliveMs: 1_000, windowMs: 1_000 }

it('an inbox goes with its last waiter, and comes again as another', () => {
  const inboxes = new Inboxes()
  const generation = inboxes.join(waiter, 1_000, 1)
  expect(inboxes.join({ ...waiter, number: 2 }, 1_000, 1)).toBe(generation)
  inboxes.part(inbox, generation)
  expect(inboxes.get(inbox)).toBeDefined()
  inboxes.part(inbox, generation)
  expect(inboxes.get(inbox)).toBeUndefined()
  expect(inboxes.join(waiter, 1_000, 1)).not.toBe(generation)
})

it('a waiter of a forgotten inbox takes nothing from the one that came after', () => {
  const inboxes = new Inboxes()
  const former = inboxes.join(waiter, 1_000, 1)
  inboxes.forget(inbox)
  inboxes.join(waiter, 1_000, 1)
  inboxes.part(inbox, former)
  expect(inboxes.get(inbox)).toMatchObject({ waiters: 1 })
})

it('a call of a process that has no waiters leaves no inbox', () => {
  const inboxes = new Inboxes()
  inboxes.hear(inbox, 1_000, 1)
  expect(inboxes.get(inbox)).toBeUndefined()
})
