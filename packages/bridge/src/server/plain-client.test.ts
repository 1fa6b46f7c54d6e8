import type { AcquireOutcome, LeaseStore } from '@leasehold/core/adapter'
import { callUntil } from '@leasehold/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bridgeToken, startTestBridge, type TestBridge } from '../../test/bridge.ts'
import { issueTicket } from './index.ts'

// A client written from docs/bridge-protocol.md with nothing but fetch. The § numbers are that document's sections.

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** §6: between half and all of a pause that doubles, and at least as long as the bridge asked for. */
function failurePauseMs(failures: number, leastSeconds: number): number {
  const doubled = Math.min(5_000, 100 * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
  return Math.max(doubled, leastSeconds * 1_000 * (1 + Math.random() / 4))
}

/** §3: resolves when the lock may be free. Rejects when the bridge refuses, or the signal is aborted. */
async function poll(base: string, credential: string, key: string, cursor: string, signal: AbortSignal): Promise<void> {
  let since = cursor
  for (let failures = 0; ; ) {
    const seconds = failures === 0 ? 25 : 1
    const url = new URL(`${base}/v1/wait`)
    for (const [name, value] of Object.entries({ key, since, timeout: `${seconds}s` })) {
      url.searchParams.set(name, value)
    }
    const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000 + 5_000)])
    const headers = { authorization: `Bearer ${credential}` }
    const answer = await fetch(url, { headers, signal: limit, redirect: 'manual' }).catch(() => undefined)
    signal.throwIfAborted()
    if (answer?.status === 200) return
    if (answer?.status === 204) {
      failures = 0
      since = answer.headers.get('leasehold-cursor') ?? since
      continue
    }
    if (answer && answer.status < 500 && answer.status !== 429) throw new Error(`refused with ${answer.status}`)
    await pause(failurePauseMs(++failures, Number(answer?.headers.get('retry-after') ?? 0)))
  }
}

/** §4: calls back whenever one of the keys may be free, until the signal is aborted. */
async function follow(
  base: string,
  credential: string,
  keys: readonly string[],
  onFree: (key: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let retrySeconds = 0
  for (let failures = 0; !signal.aborted; ) {
    const query = keys.map((key) => `key=${encodeURIComponent(key)}`).join('&')
    const headers = { authorization: `Bearer ${credential}` }
    try {
      const answer = await fetch(`${base}/v1/events?${query}`, { headers, signal })
      if (answer.status !== 200) throw new Error(`refused with ${answer.status}`)
      failures = 0
      let text = ''
      for await (const chunk of (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
        const events = (text + chunk).split('\n\n')
        text = events.pop() as string
        for (const event of events) {
          const field = (name: string): string | undefined =>
            event
              .split('\n')
              .find((line) => line.startsWith(`${name}: `))
              ?.slice(name.length + 2)
          retrySeconds = Number(field('retry') ?? retrySeconds * 1_000) / 1_000
          const data = JSON.parse(field('data') ?? '{}') as { key: string; held?: boolean }
          const type = field('event')
          if (type === 'release' || (type === 'state' && !data.held)) onFree(data.key)
        }
      }
    } catch (error) {
      if (String(error).includes('refused with 4')) throw error
    }
    if (!signal.aborted) await pause(failurePauseMs(++failures, retrySeconds))
  }
}

/** §3 and §4, on the store's side: asks again when notified, backing off between tries. */
async function lock(
  store: LeaseStore,
  key: string,
  next: (cursor: string) => Promise<void>,
): Promise<{ tries: number }> {
  const acquisitionId = crypto.randomUUID().replaceAll('-', '')
  for (let tries = 1, last = '', distanceMs = 5; ; tries++) {
    const request = { key, acquisitionId, ttlMs: 10_000, fences: 1 }
    const [outcome] = (await store.acquire([request], callUntil(new AbortController().signal))) as [AcquireOutcome]
    if (outcome.type === 'granted') return { tries }
    if (outcome.type !== 'held') throw new Error(outcome.type)
    distanceMs = outcome.cursor === last ? Math.min(1_000, distanceMs * 2) : 5
    if (outcome.cursor === last) await pause(distanceMs)
    last = outcome.cursor
    await next(outcome.cursor)
  }
}

describe('a client written from the document, with nothing but fetch', () => {
  const secret = '0123456789abcdef0123456789abcdef'
  let bridge: TestBridge
  beforeAll(async () => {
    bridge = await startTestBridge({ heartbeatMs: 500, auth: { tokens: [bridgeToken], ticketSecrets: [secret] } })
  })
  afterAll(() => bridge[Symbol.asyncDispose]())
  const hold = (key: string) => bridge.locks.acquire(key, { ttl: '120s', renew: false })
  const until = () => new AbortController()

  it('waits by long poll, and needs two tries', async () => {
    const stop = until()
    const held = await hold('poll 1/é')
    const locking = lock(bridge.store, 'poll 1/é', (cursor) =>
      poll(bridge.url, bridgeToken, 'poll 1/é', cursor, stop.signal),
    )
    await bridge.opened('waits', 1)
    await held.release()
    expect(await locking).toEqual({ tries: 2 })
  })

  it('follows several locks by one stream, and hears what was released while it was cut off', async () => {
    const stop = until()
    const heard: string[] = []
    const held = await Promise.all(['a', 'b', 'c'].map(hold))
    const following = follow(bridge.url, bridgeToken, ['a', 'b', 'c'], (key) => heard.push(key), stop.signal)
    await bridge.opened('streams', 1)
    await held[0]?.release()
    while (heard.length < 1) await pause(10)
    // Heard twice if the release comes before the first state, which then reports a free lock too.
    expect([...new Set(heard)]).toEqual(['a'])
    bridge.clients.refuse()
    bridge.clients.cut()
    await bridge.opened('streams', 0)
    await held[1]?.release()
    await bridge.clients.accept()
    while (!heard.includes('b')) await pause(10)
    expect(heard).not.toContain('c')
    stop.abort()
    await following
    await bridge.opened('streams', 0)
  })

  it('makes a ticket as it is described, which opens its keys and no others', async () => {
    const encode = (text: string): string => Buffer.from(text).toString('base64url')
    const payload = encode(JSON.stringify({ patterns: ['tenant-a:*'], exp: Date.now() / 1_000 + 60, sub: 'tenant-a' }))
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', Buffer.from(secret), algorithm, false, ['sign'])
    const signature = Buffer.from(await crypto.subtle.sign('HMAC', key, Buffer.from(payload))).toString('base64url')
    const theirs = await issueTicket(secret, { patterns: ['tenant-a:*'], expiresInMs: '1m' })
    for (const ticket of [`${payload}.${signature}`, theirs]) {
      await poll(bridge.url, ticket, 'tenant-a:1', '-', until().signal)
      await expect(poll(bridge.url, ticket, 'tenant-b:1', '-', until().signal)).rejects.toThrow('refused with 403')
      await expect(poll(bridge.url, `${ticket}x`, 'tenant-a:1', '-', until().signal)).rejects.toThrow(
        'refused with 401',
      )
    }
  })

  it('is answered as the document says, error by error', async () => {
    const statusOf = async (path: string, init?: RequestInit): Promise<unknown[]> => {
      const answer = await bridge.request(path, init)
      await answer.body?.cancel()
      return [answer.status, answer.headers.get('content-type')]
    }
    const problem = (status: number): unknown[] => [status, 'application/problem+json']
    const many = Array.from({ length: 51 }, (_, index) => `key=${index}`).join('&')
    expect(await statusOf('/v1/wait?key=k')).toEqual(problem(400))
    expect(await statusOf('/v1/wait?key=k&since=-&timeout=26s')).toEqual(problem(400))
    expect(await statusOf(`/v1/events?${many}`)).toEqual(problem(400))
    expect(await statusOf('/v1/events?key=k', { headers: { authorization: 'Bearer wrong' } })).toEqual(problem(401))
    expect(await statusOf('/v1/other')).toEqual(problem(404))
    expect(await statusOf('/v1/wait?key=k&since=-', { method: 'POST' })).toEqual(problem(405))
    expect(await statusOf(`/v1/events?key=${'k'.repeat(4_096)}`)).toEqual(problem(414))
    expect(await statusOf('/healthz')).toEqual([200, expect.anything()])
  })
})
