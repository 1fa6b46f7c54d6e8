import { describe, expect, it, vi } from 'vitest'
import { createLocker } from '../locker.ts'
import { keyLayout } from './keys.ts'
import { redisStore } from './redis-store.ts'
import type { RedisTransport } from './redis-transport.ts'

const refused = (option: string) => expect.objectContaining({ code: 'INVALID_OPTION', option })

describe('the layout of keys', () => {
  const keys = keyLayout()

  it('keeps the lock under prefix and key, as other libraries do', () => {
    expect(keys.lock('coupon:issue:42')).toBe('lock:coupon:issue:42')
    expect(keyLayout('locks:').lock('order:1')).toBe('locks:order:1')
  })

  it('announces releases on a channel of the same prefix', () => {
    expect(keys.releaseChannel('coupon:issue:42')).toBe('lock:release:coupon:issue:42')
  })

  it('puts the fence record into the slot of its lock', () => {
    expect(keys.fence('order:1')).toBe('{lock:order:1}:fence')
    expect(keys.fence('order:{42}')).toBe('{42}:lock:order:{42}:fence')
    expect(keys.fence('{42}')).toBe('{42}:lock:{42}:fence')
    expect(keys.fence('a{b')).toBe('{lock:a{b}:fence')
    for (const key of ['order:1', 'order:{42}', '{42}', '{a}{b}', 'a{b', '}{42}', 'a{b}c}d', '{{x}']) {
      expect(slotOf(keys.fence(key)), key).toBe(slotOf(keys.lock(key)))
    }
  })

  it.each(['}', 'a}', 'a}b', '{}', '{}a', '}{', 'a}{b', '{}{42}'])(
    'refuses %j, which would tear the record into another slot',
    (key) => {
      expect(() => keys.fence(key)).toThrow(refused('key'))
    },
  )

  it('gives no two locks one record, and no record the name of a lock', () => {
    const all = ['a', 'b', 'a:fence', '{a}', '{a}:fence', '{lock:a}', 'a{b', '{b}a', 'a{b}', ':a', 'release:a']
    const records = all.map((key) => keys.fence(key))
    expect(new Set(records).size).toBe(all.length)
    for (const record of records) expect(record.startsWith('{')).toBe(true)
    for (const key of all) expect(keys.lock(key).startsWith('{')).toBe(false)
  })

  it.each(['', '{', '{app}:', '{lock:'])('refuses the prefix %j', (prefix) => {
    expect(() => keyLayout(prefix)).toThrow(refused('prefix'))
  })

  it.each([null, 7, {}, ['lock:']])('refuses a prefix that is no text: %j', (prefix) => {
    expect(() => keyLayout(prefix as string)).toThrow(refused('prefix'))
  })
})

describe('a redis store', () => {
  const transport = (): RedisTransport => ({
    commandDeadlineMs: 2_000,
    cluster: false,
    countsSubscribers: true,
    nodeOf: () => '',
    whenReady: () => undefined,
    run: vi.fn(async () => []),
  })

  it('refuses bad options when it is made', () => {
    expect(() => redisStore(transport(), { prefix: '' })).toThrow(refused('prefix'))
    for (const fenceMemory of [0, -1, Number.NaN]) {
      expect(() => redisStore(transport(), { fenceMemory })).toThrow(refused('fenceMemory'))
    }
  })

  it('refuses a key without a valid hash tag before anything is sent, and its caller learns the name', async () => {
    const unused = transport()
    const locks = createLocker({ store: redisStore(unused) })
    await expect(locks.acquire('a}b')).rejects.toThrow(refused('key'))
    await expect(locks.tryAcquire('{}a')).rejects.toThrow(refused('key'))
    await expect(locks.withLock('}', () => undefined)).rejects.toThrow(refused('key'))
    expect(unused.run).not.toHaveBeenCalled()
    await locks.close()
  })
})

/** The part of a key that Redis Cluster hashes: see "Hash tags" in its specification. */
function slotOf(key: string): string {
  const open = key.indexOf('{')
  if (open < 0) return key
  const close = key.indexOf('}', open + 1)
  return close < 0 || close === open + 1 ? key : key.slice(open + 1, close)
}
