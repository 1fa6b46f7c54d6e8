import { expect, test, vi } from 'vitest'
import { slicedBody } from './sliced-body.ts'

/** Many pieces of about 80 kB to 90 kB each. */
function* pieces(count: number, told: (index: number) => void = () => undefined): Generator<string> {
  for (let index = 0; index < count; index++) {
    told(index)
    yield `${index} ${'ü'.repeat(40_000)}`
  }
}

/** Waits for `count` turns of the event loop, timers included. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setTimeout(resolve, 0))
}

test('is what its pieces are, one after the other', async () => {
  expect(await new Response(slicedBody(pieces(50))).text()).toBe([...pieces(50)].join(''))
  expect(await new Response(slicedBody([])).text()).toBe('')
})

test('lets other work run between its slices, however fast it is read', async () => {
  const turns = new Set<number>()
  let turn = 0
  let isRead = false
  const next = (): void => {
    turn++
    if (!isRead) setImmediate(next)
  }
  setImmediate(next)
  await new Response(slicedBody(pieces(40, () => turns.add(turn)))).text()
  isRead = true
  // Two pieces per slice.
  expect(turns.size).toBeGreaterThanOrEqual(20)
})

test('fails for a reader that stops reading, and lets go of what is left', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let isOver = false
  function* watched(): Generator<string> {
    try {
      yield* pieces(100)
    } finally {
      isOver = true
    }
  }
  const reader = slicedBody(watched()).getReader()
  await reader.read()
  await vi.advanceTimersByTimeAsync(30_000)
  await expect(reader.closed).rejects.toThrow('stopped reading')
  expect([isOver, vi.getTimerCount()]).toEqual([true, 0])
  vi.useRealTimers()
})

test('is made no faster than it is read, and not at all once nobody reads it', async () => {
  let made = 0
  const reader = slicedBody(pieces(1_000, () => made++)).getReader()
  for (let slice = 0; slice < 10; slice++) await reader.read()
  await turns(100)
  expect(made).toBeLessThanOrEqual(24)
  await reader.cancel()
  await turns(100)
  expect(made).toBeLessThanOrEqual(24)
})
