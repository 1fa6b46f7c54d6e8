import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createGateway } from '@leasehold/bridge/gateway'
import { issueTicket } from '@leasehold/bridge/server'
import { build } from 'esbuild'
import { Hono } from 'hono'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { bridgeToken, startTestBridge, type TestBridge } from '../../packages/bridge/test/bridge.ts'
import { noChromium, startChromium } from '../support/chromium.ts'

const storeToken = 'store-token-0123456789abcdef0123456'
const secret = 's'.repeat(32)

/** Serves a page with our client, and later the store below it: the page's own origin. */
async function startSite(): Promise<{ readonly url: string; readonly site: Hono; close(): Promise<void> }> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('programs/browser-story.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
  })
  const site = new Hono()
  site.get('/', (c) =>
    c.html('<!doctype html><meta charset="utf-8"><title>shop</title><script src="/story.js"></script>'),
  )
  site.get('/story.js', (c) => c.body(outputFiles[0]?.text ?? '', 200, { 'content-type': 'text/javascript' }))
  const { url, close } = await listen(site, { host: '127.0.0.1', port: 0 })
  return { url, site, close: () => close(0) }
}

describe.skipIf(noChromium !== undefined)(`in Chromium${noChromium === undefined ? '' : ` (${noChromium})`}`, () => {
  let stack: AsyncDisposableStack
  let bridge: TestBridge
  let page: Page
  let origin: string
  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'leasehold-chromium-'))
    stack.defer(() => rm(folder, { recursive: true, force: true }))
    const { url, site, close } = await startSite()
    stack.defer(close)
    origin = url
    bridge = stack.use(
      await startTestBridge({
        cors: { origins: [origin] },
        auth: { tokens: [bridgeToken], ticketSecrets: [secret] },
        limits: { perClient: 1 },
      }),
    )
    const redis = ioredisGateway(bridge.server.url, { unansweredMs: 5_000 })
    stack.defer(() => redis.close())
    site.route('/store', createGateway({ redis, tokens: [storeToken] }))
    const browser = await startChromium(folder)
    stack.defer(() => browser.close())
    page = await browser.newPage()
    await page.goto(origin)
  })
  afterAll(() => stack?.disposeAsync())

  /** Has the page do a part of its story; `token` is the one it sends to the bridge. */
  const story = (part: 'wait' | 'refusal' | 'read', token: string, ...args: readonly string[]): Promise<unknown> => {
    const places = { store: `${origin}/store`, storeToken, bridge: bridge.url, token }
    return page.evaluate(`story.${part}(...${JSON.stringify([places, ...args])})`)
  }

  test.each(['sse', 'long-poll'] as const)('a page of another origin is woken by %s', async (mode) => {
    const held = await bridge.locks.acquire(mode, { ttl: '60s' })
    const waiting = story('wait', bridgeToken, mode, mode)
    await bridge.opened(mode === 'sse' ? 'streams' : 'waits', 1)
    await held.release()
    expect(await waiting).toEqual({ fence: expect.any(Number), commands: 2, refusals: [] })
    await bridge.opened(mode === 'sse' ? 'streams' : 'waits', 0)
  })

  test('it is told why the bridge refuses it', async () => {
    const ticket = await issueTicket(secret, { patterns: ['mine:*'], expiresInMs: '1m' })
    await using _ = await bridge.locks.acquire('theirs')
    expect(await story('refusal', 'x'.repeat(32), 'theirs')).toBe(401)
    expect(await story('refusal', ticket, 'theirs')).toBe(403)
  })

  test('it reads what a client needs of an answer, refusals too', async () => {
    const none = { 'leasehold-cursor': null, 'leasehold-prefix': 'lock%3A', 'retry-after': null }
    await using lease = await bridge.locks.acquire('read')
    const poll = (more = '') => story('read', bridgeToken, `/v1/wait?key=read&since=-&timeout=200ms${more}`)
    expect(await poll()).toEqual({ ...none, status: 204, 'leasehold-cursor': expect.stringMatching(/^\d+$/) })
    expect(await poll('&mode=none')).toEqual({ ...none, status: 400 })
    expect(await story('read', 'wrong', '/v1/events?key=read')).toEqual({ ...none, status: 401 })
    const { close } = await bridge.stream('key=read')
    expect(await poll()).toEqual({ ...none, status: 429, 'retry-after': '1' })
    close()
    await bridge.opened('streams', 0)
    expect(lease.fence).toBeGreaterThan(0)
  })

  test('a bridge that was not set to its origin is closed to it', async () => {
    await using strict = await startTestBridge({ cors: { origins: ['https://app.example'] } })
    const places = { bridge: strict.url, token: bridgeToken }
    const path = JSON.stringify('/v1/wait?key=a&since=-')
    expect(await page.evaluate(`story.read(${JSON.stringify(places)}, ${path})`)).toMatch(/^TypeError/)
  })
})
