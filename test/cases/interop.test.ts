import { Redis } from 'ioredis'
import Redlock from 'redlock'
import { expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { quiet } from '../support/quiet.ts'

it('a lock taken with a raw SET NX PX on the same key excludes ours, and the reverse', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  const key = `${arena.prefix}shared`
  expect(await arena.command('SET', key, 'theirs', 'NX', 'PX', 400)).toBe('OK')
  expect(await locks.tryAcquire('shared')).toBeNull()
  expect(await locks.inspect('shared')).toMatchObject({ held: true, holder: null, fence: null, since: null })
  const lease = await locks.acquire('shared', { wait: '3s' })
  expect(await arena.command('SET', key, 'theirs', 'NX', 'PX', 400)).toBeNull()
  await lease.release()
  expect(await arena.command('SET', key, 'theirs', 'NX', 'PX', 400)).toBe('OK')
})

it('a foreign lock without an expiry is waited for and not taken', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  await arena.command('SET', `${arena.prefix}immortal`, 'theirs')
  await expect(locks.acquire('immortal', { wait: 100 })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
  expect(await locks.inspect('immortal')).toMatchObject({ held: true, expiresInMs: null })
  expect(await locks.revoke('immortal')).toBe(true)
  expect(await locks.isLocked('immortal')).toBe(false)
})

it('a lock taken by the npm package redlock on the same key excludes ours, and the reverse', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  const connection = quiet(new Redis(arena.server.url))
  const redlock = new Redlock([connection], { retryCount: 0 })
  const key = `${arena.prefix}shared`

  const theirs = await redlock.acquire([key], 5_000)
  expect(await locks.tryAcquire('shared')).toBeNull()
  await theirs.release()

  const ours = await locks.acquire('shared', { wait: 0 })
  await expect(redlock.acquire([key], 5_000)).rejects.toThrow()
  await ours.release()
  const again = await redlock.acquire([key], 5_000)
  await again.release()
  await redlock.quit()
})

it('a key that holds something else is refused by name, and the others of a batch are not', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  await arena.command('LPUSH', `${arena.prefix}list`, 'x')
  await expect(locks.acquire('list', { wait: '1s' })).rejects.toMatchObject({ code: 'KIND_MISMATCH' })
  const [bad, good] = await Promise.allSettled([locks.tryAcquire('list'), locks.tryAcquire('fine')])
  expect(bad).toMatchObject({ status: 'rejected', reason: { code: 'KIND_MISMATCH' } })
  expect(good).toMatchObject({ status: 'fulfilled' })
})
