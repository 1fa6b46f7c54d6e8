import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { namedEvent, SseBody, type SseBodyOptions } from './sse-body.ts'
import { UnreadTotal } from './unread-total.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

function open(options: Partial<SseBodyOptions> = {}) {
  const onEnd = vi.fn()
  const stream = new SseBody({ heartbeatMs: 1_000, maxUnreadBytes: 1_048_576, onEnd, ...options })
  const reader = stream.body.getReader()
  const read = async (): Promise<string | undefined> => {
    const { value } = await reader.read()
    return value && new TextDecoder().decode(value)
  }
  return { stream, onEnd, reader, read, leave: () => reader.cancel() }
}

test('an event is a line of data; what is empty or has commas stays as it is', async () => {
  const { stream, read } = open()
  stream.send('message,a,')
  stream.send('message,a,b,c: d')
  expect(await read()).toBe('data: message,a,\n\ndata: message,a,b,c: d\n\n')
  stream.end()
  expect(await read()).toBeUndefined()
})

test('whatever ends a line ends it, and what follows cannot be taken for an event by whoever looks for "data: "', async () => {
  const { stream, read, leave } = open()
  stream.send('one\ntwo\r\n three\rdata: four\n\n')
  expect(await read()).toBe('data: one\ndata:two\ndata:  three\ndata:data: four\ndata:\ndata:\n\n')
  await leave()
})

test('a comment is sent at least each time that the stream was open for so long', async () => {
  const { read, leave } = open()
  for (let beats = 0; beats < 3; beats++) {
    const next = read()
    vi.advanceTimersByTime(1_000)
    expect(await next).toBe(': heartbeat\n\n')
  }
  await leave()
})

test('a reader that does not read is sent one heartbeat, and none behind what is unread', async () => {
  const { stream, read, leave } = open()
  vi.advanceTimersByTime(60_000)
  expect(await read()).toBe(': heartbeat\n\n')
  stream.send('a')
  vi.advanceTimersByTime(60_000)
  expect(await read()).toBe('data: a\n\n')
  await leave()
})

test('heartbeats of streams that began at the same time drift apart', async () => {
  let draws = 0
  const random = vi.spyOn(Math, 'random').mockImplementation(() => (++draws * 0.618) % 1)
  const streams = Array.from({ length: 100 }, () => open())
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
  await Promise.all(streams.map(({ leave }) => leave()))
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
  stream.send('one more')
  expect(onEnd).not.toHaveBeenCalled()
  stream.send(large)
  expect(onEnd).toHaveBeenCalledTimes(1)
  await expect(read()).rejects.toThrow('too much unread')
})

test('an event can have a name, and the reader be told when to come back', async () => {
  const { stream, read, leave } = open()
  stream.sendRetry(1_000)
  stream.sendNamed('release', '{"key":"a"}')
  expect(await read()).toBe('retry: 1000\n\nevent: release\ndata: {"key":"a"}\n\n')
  await leave()
})

test('who reads at once gets each event as it was encoded, and who does not gets all in one piece', async () => {
  const { stream, reader, read, leave } = open()
  const message = namedEvent('release', '{"key":"a"}')
  const next = reader.read()
  await vi.advanceTimersByTimeAsync(0)
  stream.sendOnce(message)
  expect((await next).value).toBe(message)
  stream.send('a')
  stream.send('b')
  expect(await read()).toBe('data: a\n\ndata: b\n\n')
  await leave()
})

test('what says no more when it is read twice is kept once, whatever else is unread', async () => {
  const unreadTotal = new UnreadTotal()
  const { stream, read, leave } = open({ unreadTotal })
  const [a, b] = ['a', 'b'].map((key) => namedEvent('release', key)) as [Uint8Array, Uint8Array]
  for (let release = 0; release < 10_000; release++) {
    stream.sendOnce(a)
    stream.sendOnce(b)
  }
  expect(unreadTotal.bytes).toBeLessThan(200)
  stream.send('c')
  expect(await read()).toBe('data: c\n\nevent: release\ndata: a\n\nevent: release\ndata: b\n\n')
  expect(unreadTotal.bytes).toBe(0)
  stream.sendOnce(a)
  expect(await read()).toBe('event: release\ndata: a\n\n')
  await leave()
})

test('many short events that are unread take no more memory than is counted', () => {
  const maxUnreadBytes = 100_000
  const unreadTotal = new UnreadTotal()
  const { stream, onEnd } = open({ maxUnreadBytes, unreadTotal })
  let events = 0
  for (; onEnd.mock.calls.length === 0; events++) {
    // A full buffer doubles in size.
    expect(unreadTotal.bytes).toBeLessThan(2 * maxUnreadBytes)
    stream.send('short')
  }
  expect(events * 13).toBeGreaterThan(maxUnreadBytes / 2)
  expect(unreadTotal.bytes).toBe(0)
})

test('when all streams together leave too much unread, the one that leaves the most is cut off', async () => {
  const unreadTotal = new UnreadTotal(10_000)
  const [little, most, more] = [open({ unreadTotal }), open({ unreadTotal }), open({ unreadTotal })]
  little.stream.send('x'.repeat(1_000))
  most.stream.send('x'.repeat(5_000))
  more.stream.send('x'.repeat(3_000))
  expect([little, most, more].map(({ stream }) => stream.hasEnded)).toEqual([false, false, false])
  little.stream.send('x'.repeat(1_000))
  expect([little, most, more].map(({ stream }) => stream.hasEnded)).toEqual([false, true, false])
  expect(most.onEnd).toHaveBeenCalledTimes(1)
  await expect(most.read()).rejects.toThrow('too much unread')
  expect(await more.read()).toHaveLength(3_008)
  expect(unreadTotal.bytes).toBeLessThan(4_000)
  await Promise.all([little.leave(), more.leave()])
  expect(unreadTotal.bytes).toBe(0)
})

test('a stream ends when its reader has got what was sent before', async () => {
  const { stream, onEnd, read } = open()
  stream.send('last')
  stream.end()
  expect(onEnd).toHaveBeenCalledTimes(1)
  expect([await read(), await read()]).toEqual(['data: last\n\n', undefined])
})

test('a reader that does not take the rest of an ended stream is cut off after 5 s', async () => {
  const { stream, read } = open()
  stream.send('last')
  stream.end()
  vi.advanceTimersByTime(5_000)
  await expect(read()).rejects.toThrow('did not read it to its end')
})
