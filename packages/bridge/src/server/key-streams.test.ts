import { ManualClock } from '@leasehold/testkit'
import { Hono } from 'hono'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { checkOptions } from './bridge-options.ts'
import { KeyStreams } from './key-streams.ts'
import type { Seen } from './paced-check.ts'
import { type ProblemError, problem } from './problem.ts'
import { WatchedKeys } from './watched-keys.ts'

const held = (cursor: string): Seen => ({ type: 'checked', changed: false, cursor, expiresInMs: 60_000 })

let clock: ManualClock
let keys: WatchedKeys
let open: number
/** What a check of a key sees; other keys are held in an ordinary way. */
let locks: Map<string, Seen>
let streams: KeyStreams
beforeEach(() => {
  clock = new ManualClock()
  open = 0
  locks = new Map()
  keys = new WatchedKeys({ clock, check: async (key) => locks.get(key) ?? held('1') })
  const options = checkOptions({
    store: { checkHolders: () => Promise.reject(new Error('The keys are watched by the test')), nodeOf: () => '' },
    subscriber: { connect: () => Promise.reject(new Error('The keys are watched by the test')) },
    auth: { tokens: ['a-token-of-no-use-here-0123456789abcdef'] },
    clock,
    onEvent: (event) => {
      if (event.type === 'streams') open = event.open
    },
  })
  streams = new KeyStreams(options, { listenFor: async () => (key) => keys.get(key) })
})
afterEach(async () => {
  keys.close()
  await clock.advance(0)
  expect([open, clock.pending]).toEqual([0, 0])
})

/** Requests a stream; resolves with the response and the means to read or leave it. */
async function ask(wanted: readonly string[], expiresInMs?: number, signal?: AbortSignal) {
  const onEnd = vi.fn()
  const app = new Hono().get('/', (c) => streams.answer(c, { keys: wanted, expiresInMs, onEnd }))
  app.onError((error, c) => problem(c, error as ProblemError))
  const response = await app.request('/', signal && { signal })
  const reader = response.body?.getReader()
  const read = async (): Promise<string | undefined> => {
    const { value } = (await reader?.read()) ?? {}
    return value && new TextDecoder().decode(value)
  }
  return { response, onEnd, read, leave: async () => reader?.cancel() }
}

/** Expects that nobody waits for any key, and that keys waited for earlier are forgotten. */
async function expectNothingLeft(): Promise<void> {
  await clock.advance(5_000)
  expect(keys.size).toBe(0)
}

test('a stream that ends while it is told of its keys follows none of them', async () => {
  // Together, their states exceed what a reader may leave unread.
  for (const key of ['huge-1', 'huge-2']) locks.set(key, held('7'.repeat(150_000)))
  const first = [await ask(['huge-1']), await ask(['huge-2'])]
  await clock.advance(0)
  const second = await ask(['huge-1', 'huge-2', 'third'])
  expect(second.onEnd).toHaveBeenCalledTimes(1)
  await expect(second.read()).rejects.toThrow('too much unread')
  for (const { leave } of first) await leave()
  await expectNothingLeft()
})

test('one whose time is over when it opens ends at once', async () => {
  const { onEnd, read } = await ask(['a', 'b'], 0)
  await clock.advance(0)
  expect(onEnd).toHaveBeenCalledTimes(1)
  expect(await read()).toContain('retry: 1000')
  expect(await read()).toBeUndefined()
  await expectNothingLeft()
})

test('a client that leaves while its stream opens, or at once after, leaves nothing behind', async () => {
  const gone = AbortSignal.abort()
  expect((await ask(['a'], undefined, gone)).response.status).toBe(503)
  const client = new AbortController()
  const { onEnd } = await ask(['a', 'b'], undefined, client.signal)
  client.abort()
  expect(onEnd).toHaveBeenCalledTimes(1)
  await expectNothingLeft()
})

test('a release is encoded once for all streams of its key, and told once to a reader that does not read', async () => {
  const readers = await Promise.all(Array.from({ length: 100 }, () => ask(['a', 'b'])))
  await clock.advance(0)
  for (const { read } of readers) expect((await read())?.match(/event: state/g)).toHaveLength(2)
  const encode = vi.spyOn(TextEncoder.prototype, 'encode')
  for (let at = 0; at < 5_000; at += 50) {
    keys.released('a')
    await clock.advance(50)
  }
  expect(encode).toHaveBeenCalledTimes(1)
  encode.mockRestore()
  for (const { read } of readers) expect(await read()).toBe('event: release\ndata: {"key":"a"}\n\n')
  for (const { leave } of readers) await leave()
  await expectNothingLeft()
})
