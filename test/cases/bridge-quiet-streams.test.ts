import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLocker } from '@leasehold/core'
import { startHttpProxy } from '@leasehold/testkit'
import { expect, test } from 'vitest'
import { bridgeToken, startTestBridge } from '../../packages/bridge/test/bridge.ts'
import { bridgeNotifier } from '../../packages/bridge-client/src/index.ts'
import { elapse, limit, rounds } from '../support/scale.ts'

/** Each time is a fiftieth of the case's, unless it runs literally. */
const scale = rounds(1, 1 / 50)
const idleLimitMs = 30_000 * scale
const heartbeatMs = 10_000 * scale
const heldMs = 180_000 * scale

/** A proxy that cuts idle connections, and holds an answer back until it is complete unless its headers forbid that. */
async function startStrictProxy(target: string, obeys = true): Promise<{ url: string; cuts: number; stop(): void }> {
  const proxy = {
    url: '',
    cuts: 0,
    stop(): void {
      server.close()
      server.closeAllConnections()
    },
  }
  const server = createServer((incoming, outgoing) => {
    const { method, headers } = incoming
    const sent = request(new URL(incoming.url ?? '/', target), { method, headers, agent: false }, (reply) => {
      const buffers = !obeys || reply.headers['x-accel-buffering'] !== 'no'
      const kept: Buffer[] = []
      const cut = (): void => {
        proxy.cuts++
        outgoing.destroy()
        sent.destroy()
      }
      let idle = setTimeout(cut, idleLimitMs)
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
      if (!buffers) outgoing.flushHeaders()
      reply.on('data', (chunk: Buffer) => {
        if (buffers) return void kept.push(chunk)
        clearTimeout(idle)
        idle = setTimeout(cut, idleLimitMs)
        return outgoing.write(chunk)
      })
      reply.on('error', () => outgoing.destroy())
      reply.on('close', () => {
        clearTimeout(idle)
        outgoing.end(Buffer.concat(kept))
      })
    })
    sent.on('error', () => outgoing.destroy())
    outgoing.on('close', () => sent.destroy())
    sent.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}

test('T-49: one quiet stream outlives the idle limit of a buffering proxy, and its release comes through', async () => {
  await using bridge = await startTestBridge({ heartbeatMs })
  await using counting = await startHttpProxy({ target: bridge.url })
  const strict = await startStrictProxy(counting.url)
  const notifier = bridgeNotifier({ url: strict.url, token: bridgeToken })
  const locks = createLocker({ store: bridge.store, notifier })
  const held = await bridge.locks.acquire('k', { ttl: '600s', renew: false })

  const watching = notifier.subscribe('k', '-')
  const start = performance.now()
  await watching.ready
  expect([watching.live, performance.now() - start < limit(1_000)]).toEqual([true, true])
  const acquiring = locks.acquire('k', { wait: '600s', recheck: '600s' })
  await elapse(heldMs)
  expect(watching.live).toBe(true)
  const releasedAt = performance.now()
  await held.release()
  const lease = await acquiring
  expect(performance.now() - releasedAt).toBeLessThan(limit(1_000))
  expect([lease.commands, counting.requests, strict.cuts]).toEqual([2, { '/v1/events': 1 }, 0])
  watching.close()
  await locks.close()
  strict.stop()
}, 400_000)

test('T-49: a proxy that buffers all the same is no worse than no bridge', async () => {
  await using bridge = await startTestBridge({ heartbeatMs })
  const strict = await startStrictProxy(bridge.url, false)
  const locks = createLocker({ store: bridge.store, notifier: bridgeNotifier({ url: strict.url, token: bridgeToken }) })
  const held = await bridge.locks.acquire('k', { ttl: '600s', renew: false })
  const acquiring = locks.acquire('k', { wait: '60s' })
  await elapse(1_500)
  await held.release()
  const releasedAt = performance.now()
  await acquiring
  expect(performance.now() - releasedAt).toBeLessThan(limit(1_500))
  await locks.close()
  strict.stop()
})
