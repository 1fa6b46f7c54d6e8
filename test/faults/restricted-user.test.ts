import type { LeaseStore } from '@leasehold/core/adapter'
import { redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'

/*
 * A server user with restricted rights: a missing right is reported as such, and not as a lock's state.
 */

const { signal } = new AbortController()
const acquisitionId = 'a'.repeat(32)

let arena: RedisArena
let full: LeaseStore
const connections: Redis[] = []
beforeAll(async () => {
  arena = await redisArena()
  full = arena.store()
})
afterAll(async () => {
  for (const connection of connections) connection.disconnect()
  await arena[Symbol.asyncDispose]()
})

async function storeOf(username: string, ...rules: readonly string[]): Promise<LeaseStore> {
  await arena.command('ACL', 'SETUSER', username, 'on', '>secret', ...rules)
  const connection = new Redis({ host: arena.server.host, port: arena.server.port, username, password: 'secret' })
  connection.on('error', () => undefined)
  connections.push(connection)
  return redisStore(ioredisTransport(connection), { prefix: arena.prefix })
}

/** As in the README of the adapter. */
const documented = (): readonly string[] => [
  `~${arena.prefix}*`,
  `~{${arena.prefix}*`,
  `&${arena.prefix}release:*`,
  ...'+eval +evalsha +get +mget +set +del +pexpire +pttl +time +publish'.split(' '),
  '+info',
]

async function grant(store: LeaseStore, key: string, by: string = acquisitionId): Promise<string> {
  const [outcome] = await store.acquire([{ key, acquisitionId: by, ttlMs: 60_000, fences: 1 }], callUntil(signal))
  if (outcome?.type !== 'granted') throw new Error(`not granted but ${outcome?.type}`)
  return outcome.token
}

it('the documented rights are enough for all there is, the mark of an ending included', async () => {
  const store = await storeOf('enough', ...documented())
  const token = await grant(store, 'enough')
  expect(await store.renew([{ key: 'enough', token, ttlMs: 90_000 }], callUntil(signal))).toEqual([{ type: 'renewed' }])
  expect(await store.inspect('enough', callUntil(signal))).toMatchObject({ state: { held: true } })
  const release = () => store.release([{ key: 'enough', token }], callUntil(signal))
  expect(await release()).toEqual([{ type: 'released', announced: true, subscribers: 0 }])
  expect(await release()).toEqual([{ type: 'released', announced: true, subscribers: null }])
  const second = await grant(store, 'enough', 'b'.repeat(32))
  expect(await store.revoke('enough', callUntil(signal))).toEqual({ type: 'revoked' })
  expect(await store.release([{ key: 'enough', token: second }], callUntil(signal))).toEqual([{ type: 'revoked' }])
})

it('who may not GET is told so by every request, and neither takes nor loses nor frees anything', async () => {
  const token = await grant(full, 'unread')
  const store = await storeOf('blind', ...documented(), '-get', '-mget')
  const refused = {
    type: 'refused',
    error: { code: 'STORE_UNAVAILABLE', cause: { message: expect.stringMatching(/NOPERM|can't run this command/) } },
  }
  const asking = { acquisitionId: 'b'.repeat(32), ttlMs: 60_000, fences: 1 }
  const both = (request: object) => ['unread', 'free'].map((key) => ({ ...request, key }))
  expect(await store.acquire(both(asking) as never, callUntil(signal))).toMatchObject([refused, refused])
  expect(await store.renew(both({ token, ttlMs: 90_000 }) as never, callUntil(signal))).toMatchObject([
    refused,
    refused,
  ])
  expect(await store.release(both({ token }) as never, callUntil(signal))).toMatchObject([refused, refused])
  expect(await store.checkHolders([{ key: 'unread', cursor: '-' }], callUntil(signal))).toMatchObject([refused])
  expect(await store.inspect('unread', callUntil(signal))).toMatchObject(refused)
  expect(await store.revoke('unread', callUntil(signal))).toMatchObject(refused)
  expect(await arena.command('GET', `${arena.prefix}unread`)).toBe(token)
  expect(await arena.command('PTTL', `${arena.prefix}unread`)).toBeLessThanOrEqual(60_000)
  expect(await arena.command('EXISTS', `${arena.prefix}free`)).toBe(0)
})

it('who may not MGET has calls of several answered all the same', async () => {
  const store = await storeOf('singly', ...documented(), '-mget')
  const requests = ['one', 'two'].map((key) => ({ key, acquisitionId, ttlMs: 60_000, fences: 1 }))
  const types = async (outcomes: Promise<readonly { readonly type: string }[]>): Promise<readonly string[]> =>
    (await outcomes).map(({ type }) => type)
  expect(await types(store.acquire(requests, callUntil(signal)))).toEqual(['granted', 'granted'])
  expect(await types(store.release(requests, callUntil(signal)))).toEqual(['released', 'released'])
  expect(await types(store.release(requests, callUntil(signal)))).toEqual(['released', 'released'])
})

it('who may not SET frees a lock all the same; a repeat is then told only that nothing is there', async () => {
  const key = 'unmarked'
  const store = await storeOf('readonly', ...documented(), '-set')
  const token = await grant(full, key)
  const record = `{${arena.prefix}${key}}:fence`
  const before = await arena.command('GET', record)
  const release = () => store.release([{ key, token }], callUntil(signal))
  expect(await release()).toEqual([{ type: 'released', announced: true, subscribers: 0 }])
  expect(await arena.command('GET', record)).toBe(before)
  expect(await release()).toEqual([{ type: 'gone', resent: false }])
  await grant(full, key, 'b'.repeat(32))
  expect(await release()).toEqual([{ type: 'superseded', resent: false }])
})

it('a release does not restore a missing record, and its repeat is told only that nothing is there', async () => {
  const key = 'unrecorded'
  const token = await grant(full, key)
  const record = `{${arena.prefix}${key}}:fence`
  await arena.command('DEL', record)
  const release = () => full.release([{ key, token }], callUntil(signal))
  expect(await release()).toMatchObject([{ type: 'released' }])
  expect(await arena.command('EXISTS', record)).toBe(0)
  expect(await release()).toEqual([{ type: 'gone', resent: false }])
})
