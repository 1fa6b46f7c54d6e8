import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { type BridgeNamespace, bridgeHandler } from './index.ts'

/** A binding whose object echoes the request, or throws. */
function binding(error?: Error): BridgeNamespace & { readonly asked: unknown[] } {
  const asked: unknown[] = []
  return {
    asked,
    getByName: (name, options) => ({
      async fetch(request) {
        const { method, url } = request as Request
        asked.push([name, options?.locationHint, method, url])
        if (error) throw error
        return new Response('from the object')
      },
    }),
  }
}

test('it passes on what a bridge answers, whatever the method, to one object', async () => {
  const BRIDGE = binding()
  const { fetch } = bridgeHandler((env: { readonly BRIDGE: BridgeNamespace }) => env.BRIDGE, { locationHint: 'weur' })
  const urls = ['/v1/wait?key=a&since=-', '/v1/events?key=a', '/healthz', '/readyz', '/metrics'].map(
    (path) => `https://bridge.example${path}`,
  )
  for (const url of urls) expect(await (await fetch(new Request(url), { BRIDGE })).text()).toBe('from the object')
  await fetch(new Request('https://bridge.example/v1/wait', { method: 'OPTIONS' }), { BRIDGE })
  expect(BRIDGE.asked).toEqual([
    ...urls.map((url) => ['leasehold-bridge', 'weur', 'GET', url]),
    ['leasehold-bridge', 'weur', 'OPTIONS', 'https://bridge.example/v1/wait'],
  ])
})

test('it does not wake the object for anything else', async () => {
  const BRIDGE = binding()
  const { fetch } = bridgeHandler(() => BRIDGE)
  for (const path of ['/', '/v2/wait', '/readyz/', '/wp-login.php']) {
    const response = await fetch(new Request(`https://bridge.example${path}`), {})
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
  }
  expect(BRIDGE.asked).toEqual([])
})

test('it can be mounted below a path of another app', async () => {
  const BRIDGE = binding()
  const app = new Hono().mount('/bridge', bridgeHandler(() => BRIDGE, { name: 'second' }).fetch)
  expect((await app.request('https://app.example/bridge/v1/wait?key=a&since=-')).status).toBe(200)
  expect(BRIDGE.asked).toEqual([['second', undefined, 'GET', 'https://app.example/v1/wait?key=a&since=-']])
})

test.each(['retryable', 'overloaded', 'durableObjectReset'])(
  'an object that is away (%s) is a 503, after which clients come back',
  async (mark) => {
    const { fetch } = bridgeHandler(() => binding(Object.assign(new Error('sesame'), { [mark]: true })))
    const response = await fetch(new Request('https://bridge.example/readyz'), {})
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.text()).not.toContain('sesame')
  },
)

test('any other error fails the request, and so does a binding that is missing', async () => {
  const request = new Request('https://bridge.example/readyz')
  const { fetch } = bridgeHandler(() => binding(new Error('A mistake in the object')))
  await expect(fetch(request, {})).rejects.toThrow('A mistake in the object')
  const unbound = bridgeHandler((env: { readonly BRIDGE: BridgeNamespace }) => env.BRIDGE)
  await expect(unbound.fetch(request, {} as never)).rejects.toThrow('"namespace" must be the binding')
})
