import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EventStream } from './event-stream.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

function open() {
  const onEnd = vi.fn()
  const stream = new EventStream({ heartbeatMs: 1_000, maxUnreadBytes: 1_048_576, onEnd })
  const reader = stream.body.getReader()
  const read = async (): Promise<string | undefined> => {
    const { value } = await reader.read()
    return value && new TextDecoder().decode(value)
  }
  return { stream, onEnd, reader, read }
}

test('an event is a line of data; what is empty or has commas stays as it is', async () => {
  const { stream, read } = open()
  stream.send('message,a,')
  stream.send('message,a,b,c: d')
  expect(await read()).toBe('data: message,a,\n\n')
  expect(await read()).toBe('data: message,a,b,c: d\n\n')
  stream.end()
  expect(await read()).toBeUndefined()
})

test('whatever ends a line ends it, and what follows cannot be taken for an event by whoever looks for "data: "', async () => {
  const { stream, read } = open()
  stream.send('one\ntwo\r\n three\rdata: four\n\n')
  expect(await read()).toBe('data: one\ndata:two\ndata:  three\ndata:data: four\ndata:\ndata:\n\n')
  stream.end()
})

test('a comment is sent at least each time that the stream was open for so long', async () => {
  const { stream, read } = open()
  vi.advanceTimersByTime(2_000)
  expect([await read(), await read()]).toEqual([': heartbeat\n\n', ': heartbeat\n\n'])
  stream.end()
})

test('heartbeats of streams that began at the same time drift apart', () => {
  let draws = 0
  const random = vi.spyOn(Math, 'random').mockImplementation(() => (++draws * 0.618) % 1)
  const streams = Array.from({ length: 100 }, () => open().stream)
  const beatsIn = (forMs: number): number => {
    const before = draws
    vi.advanceTimersByTime(forMs)
    return draws - before
  }
  expect(beatsIn(750)).toBe(0)
  vi.advanceTimersByTime(9_250)
  const slices = Array.from({ length: 100 }, () => beatsIn(10))
  expect(slices.reduce((sum, beats) => sum + beats)).toBeGreaterThanOrEqual(100)
  expect(Math.max(...slices)).toBeLessThanOrEqual(10)
  for (const stream of streams) stream.end()
  random.mockRestore()
})

test('it ends once, however often and by whomever it is ended', async () => {
  const { stream, onEnd, reader } = open()
  await reader.cancel()
  stream.end()
  stream.send('late')
  expect(onEnd).toHaveBeenCalledTimes(1)
})

test('a reader that leaves too much unread is cut off, without waiting for it to read the rest', async () => {
  const { stream, onEnd, read } = open()
  const large = 'x'.repeat(600_000)
  stream.send(large)
  stream.send(large)
  expect(onEnd).not.toHaveBeenCalled()
  stream.send('one more')
  expect(onEnd).toHaveBeenCalledTimes(1)
  await expect(read()).rejects.toThrow('too much unread')
})

test('an event can have a name, and the reader be told when to come back', async () => {
  const { stream, read } = open()
  stream.sendRetry(1_000)
  stream.sendNamed('release', '{"key":"a"}')
  expect(await read()).toBe('retry: 1000\n\n')
  expect(await read()).toBe('event: release\ndata: {"key":"a"}\n\n')
  stream.end()
})
