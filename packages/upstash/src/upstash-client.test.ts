import { inspect } from 'node:util'
import { Redis, type Requester } from '@upstash/redis'
import { Redis as CloudflareRedis } from '@upstash/redis/cloudflare'
import { Redis as FastlyRedis } from '@upstash/redis/fastly'
import { Redis as Redis128 } from 'upstash-redis-1-28'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { endpointOf, type UpstashClient } from './upstash-client.ts'
import { upstashStore } from './upstash-store.ts'

const url = 'https://eu1-lease.example'
const token = 'AX0-token'

afterEach(() => vi.restoreAllMocks())

describe('an @upstash/redis client', () => {
  it.each([
    ['for Node', () => new Redis({ url, token })],
    ['for Node, without automatic pipelines', () => new Redis({ url: `${url}/`, token, enableAutoPipelining: false })],
    ['for Cloudflare', () => new CloudflareRedis({ url, token })],
    ['of version 1.28', () => new Redis128({ url, token })],
  ] satisfies [string, () => UpstashClient][])('%s is known by its URL and token', (_, make) => {
    expect(endpointOf(make())).toEqual({ url, token })
  })

  it('for Fastly is asked through its backend', async () => {
    const sent = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('{"result":1}'))
    const { fetch } = endpointOf(new FastlyRedis({ url, token, backend: 'lease-backend' }))
    await fetch?.(url, { method: 'POST' } as never)
    expect(sent).toHaveBeenCalledWith(url, expect.objectContaining({ method: 'POST', backend: 'lease-backend' }))
  })

  it('is left as it was', () => {
    const redis = new Redis({ url, token })
    const before = inspect(redis, { depth: 10, showHidden: true })
    upstashStore(redis, { prefix: 'locks:' })
    expect(inspect(redis, { depth: 10, showHidden: true })).toBe(before)
  })

  it('without a URL and token of its own is refused by name, with what to do', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const requester: Requester = { request: () => Promise.reject(new Error('not to be called')) }
    for (const redis of [
      new Redis(requester),
      new Redis({ url: undefined, token }),
      new Redis({ url, token: undefined }),
      new Redis({ url, token: '' }),
    ]) {
      expect(() => upstashStore(redis)).toThrow(
        expect.objectContaining({
          code: 'INVALID_OPTION',
          option: 'redis',
          message: expect.stringContaining('new Redis({ url, token })'),
        }),
      )
    }
  })

  it('is not what has another client’s shape', () => {
    for (const other of [undefined, null, {}, { eval: () => undefined }, { client: { baseUrl: url } }]) {
      expect(() => upstashStore(other as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', option: 'redis' }),
      )
    }
  })
})
