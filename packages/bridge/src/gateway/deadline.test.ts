import { expect, test } from 'vitest'
import { withinDeadline } from './deadline.ts'
import { UnansweredError } from './gateway-redis.ts'

const present = new AbortController().signal
const never = (): Promise<never> => new Promise(() => undefined)

test('an answer in time is the answer, and an error is the error', async () => {
  expect(await withinDeadline(1_000, present, async () => 'answer')).toBe('answer')
  await expect(withinDeadline(1_000, present, () => Promise.reject(new Error('problem')))).rejects.toThrow('problem')
})

test('an adapter that never settles is left at the deadline, not knowing what became of it', async () => {
  await expect(withinDeadline(10, present, never)).rejects.toMatchObject({ executed: 'unknown' })
})

test('an adapter that knows that nothing was sent is believed', async () => {
  const notSent = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new UnansweredError('no'))))
  await expect(withinDeadline(10, present, notSent)).rejects.toMatchObject({ executed: 'no' })
})

test('a client that leaves ends the wait, and one that has left is not asked for', async () => {
  const leave = new AbortController()
  const call = withinDeadline(60_000, leave.signal, never)
  leave.abort()
  await expect(call).rejects.toMatchObject({ executed: 'unknown' })
  await expect(withinDeadline(60_000, leave.signal, () => expect.fail())).rejects.toMatchObject({ executed: 'no' })
})
