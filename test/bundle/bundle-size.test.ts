import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { compressedBytes, edgeBundle } from '../support/edge-bundle.ts'

const exported = `
  export { createLocker } from '@leasehold/core'
  export { redisStore } from '@leasehold/core/redis'
`
const folder = fileURLToPath(new URL('.', import.meta.url))

/** What the locker with the Redis store may weigh, minified and compressed, in bytes: docs/decisions/0005. */
describe.each([
  ['by default', [], 18_980],
  ['on Workers', ['workerd'], 14_215],
])('createLocker with redisStore, bundled %s', (name, conditions, limit) => {
  const code = edgeBundle(exported, { folder, conditions })

  test(`weighs at most ${limit} bytes`, async () => {
    const size = compressedBytes(await code)
    console.log(`createLocker with redisStore ${name}: ${size} of ${limit} bytes`)
    expect(size).toBeLessThanOrEqual(limit)
  })

  test('needs nothing of Node', async () => {
    expect((await code).match(/node:|\bprocess\b|\bBuffer\b|\brequire\b/g)).toBeNull()
  })

  test('does no I/O, sets no timer, draws no randomness and asks no clock when it is imported or made', async () => {
    const script = await edgeBundle(exported, { folder, conditions, format: 'iife' })
    const make = `
      const run = () => { throw new Error('sent something') }
      leasehold.createLocker({ store: leasehold.redisStore({ commandDeadlineMs: 2000, cluster: false, run }) })
    `
    expect(runInContext(`${script}; ${make}`, languageOnly())).toHaveProperty('acquire')
  })
})

/** What records add to such a bundle. */
describe.each([
  ['by default', [], 4_445],
  ['on Workers', ['workerd'], 4_445],
])('claimRecord, bundled %s', (name, conditions, limit) => {
  const withRecords = `${exported}; export { claimRecord } from '@leasehold/core/records'`

  test(`adds at most ${limit} bytes, and nothing of Node`, async () => {
    const [code, without] = await Promise.all(
      [withRecords, exported].map((source) => edgeBundle(source, { folder, conditions })),
    )
    const size = compressedBytes(code as string) - compressedBytes(without as string)
    console.log(`claimRecord ${name}: ${size} of ${limit} bytes beside createLocker with redisStore`)
    expect(size).toBeLessThanOrEqual(limit)
    expect((code as string).match(/node:|\bprocess\b|\bBuffer\b|\brequire\b/g)).toBeNull()
  })
})

/**
 * What further capabilities add, each beside what it is built on. Whoever does not import them ships nothing of them.
 */
const withRecords = `export { claimRecord } from '@leasehold/core/records'`
const withQueue = `export { fifo, priority } from '@leasehold/core/queue'`
test.each([
  ['once', `export { once } from '@leasehold/core/once'`, withRecords, 1_685],
  ['election', `export { lead, leaderOf } from '@leasehold/core/election'`, '', 1_410],
  ['queue', withQueue, '', 11_545],
  ['semaphore', `export { semaphore } from '@leasehold/core/semaphore'`, withQueue, 930],
  ['read/write lock', `export { readWriteLock } from '@leasehold/core/read-write'`, withQueue, 1_710],
  [
    'sets of locks',
    `export { acquireAll, releaseAll, tryAcquireEach, withLocks } from '@leasehold/core/many'`,
    '',
    // The rule of elders is 440 of it: 205 in the script, 235 in the waiter.
    5_710,
  ],
  ['re-entry', `export { within } from '@leasehold/core/re-entry'`, '', 880],
  ['kept locks', `export { holdAtLeast } from '@leasehold/core/schedule'`, '', 995],
  // Looking for locks under another prefix is 480 of it (docs/decisions/0030).
  ['check', `export { check, checker } from '@leasehold/core/check'`, '', 8_310],
  ['lists of locks', `export { listLocks, readLocks } from '@leasehold/core/listing'`, '', 2_610],
  [
    'locked functions',
    `export { locked, lockedFunction } from '@leasehold/core/locked'`,
    '',
    // What tells of an overrun is 100 of it.
    635,
  ],
  ['requests under a lock', `export { lockedRequest } from '@leasehold/core/requests'`, '', 885],
  ['rooms', `export { rooms } from '@leasehold/core/presence'`, '', 4_410],
])('%s adds no more than its own, and nothing of Node', async (name, source, beside, limit) => {
  const base = `${exported}; ${beside}`
  for (const conditions of [[], ['workerd']]) {
    const [code, without] = await Promise.all(
      [`${base}; ${source}`, base].map((contents) => edgeBundle(contents, { folder, conditions })),
    )
    const size = compressedBytes(code as string) - compressedBytes(without as string)
    console.log(`${name}${conditions}: ${size} of ${limit} bytes`)
    expect(size).toBeLessThanOrEqual(limit)
    expect((code as string).match(/node:|\bprocess\b|\bBuffer\b|\brequire\b/g)).toBeNull()
  }
})

test('the check would find a module that sets a timer or draws randomness', () => {
  for (const code of ['setTimeout(() => {}, 1)', 'crypto.randomUUID()', 'Math.random()', 'Date.now()', 'fetch("/")']) {
    expect(() => runInContext(code, languageOnly())).toThrow()
  }
})

/** A global scope with no side effects, only computation; even the language's own randomness and clock are gone. */
function languageOnly(): object {
  const context = createContext({ TextEncoder, AbortController })
  runInContext('delete Math.random; delete Date.now', context)
  return context
}

/** Our share of a Worker, one part after another: each line is what the part adds to those before it. */
test('a Worker with all of it, part after part', async () => {
  const parts = [
    ['core', `export { createLocker } from '@leasehold/core'`],
    ['fetch store', `export { fetchStore } from '@leasehold/upstash'`],
    ['bridge client', `export { bridgeNotifier } from '@leasehold/bridge-client'`],
    ['request scope', `export { requestScope } from '@leasehold/cloudflare'`],
    ['watchdog', `export { watchdog } from '@leasehold/cloudflare'`],
    ['its object', `export { leaseWatchdog } from '@leasehold/cloudflare'`],
    ['records', `export { claimRecord } from '@leasehold/core/records'`],
    ['idempotency', `export { idempotent } from '@leasehold/idempotency'`],
    ['hand-over', `export { detach, resume } from '@leasehold/core/hand-over'`],
  ] as const
  let contents = ''
  let size = 0
  const lines: string[] = []
  for (const [name, source] of parts) {
    contents += `${source}\n`
    const external = ['cloudflare:workers']
    const larger = compressedBytes(await edgeBundle(contents, { folder, conditions: ['workerd'], external }))
    lines.push(`${name} ${larger - size}`)
    size = larger
  }
  console.log(`A Worker, in bytes: ${lines.join(', ')}; together ${size}`)
  expect(size).toBeLessThanOrEqual(32_840)
})
