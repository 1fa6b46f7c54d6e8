import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createLocker } from '@leasehold/core'
import { ioredisBackend } from '@leasehold/ioredis'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { describe, expect } from 'vitest'
import { Gates } from '../../../test/runtimes/gates.ts'
import { claims } from '../test/served-app.ts'
import { testApp } from '../test/test-app.ts'

describe('on Node, over TCP', () => {
  claims(async () => {
    const redis = await startRedis()
    const client = new Redis(redis.url).on('error', () => undefined)
    const gates = new Gates()
    const app = testApp({
      lockerWith: (onEvent) => createLocker({ ...ioredisBackend(client), onEvent }),
      pass: (gate) => gates.pass(gate),
    })
    const http = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
    await once(http, 'listening')
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    return {
      url,
      asClient(path) {
        const client = new AbortController()
        const answer = fetch(url + path, { signal: client.signal })
        return async () => {
          client.abort()
          await expect(answer).rejects.toThrow('aborted')
        }
      },
      gates,
      redis,
      async [Symbol.asyncDispose]() {
        http.closeAllConnections()
        http.close()
        client.disconnect()
        await redis.stop()
      },
    }
  })
})
