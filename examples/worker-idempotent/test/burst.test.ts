import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { elapse, ms, rounds } from '../../../test/support/scale.ts'
import { ask, payment, type Reply, recordOf, type Setting, startPaymentWorker, startSetting } from './setting.ts'

let setting: Setting
beforeEach(async () => {
  setting = await startSetting()
})
afterEach(() => setting[Symbol.asyncDispose]())

const keys = Array.from({ length: 20 }, (_, index) => `burst-${index}`)
const records = keys.map(recordOf)
const duplicates = Array.from({ length: 10 }, () => keys).flat()

const replayed = ({ headers }: Reply): boolean => headers.get('idempotency-replayed') === 'true'
const typeOf = ({ body }: Reply): unknown => body['type']

/** How many payments were made for each key. */
const effects = (): readonly number[] =>
  records.map((record) => setting.payments.payments.filter((each) => each === record).length)

/** How many different bodies the 201 answers of each key have. */
const told = (replies: readonly Reply[]): readonly number[] =>
  keys.map((_, at) => {
    const ofKey = replies.filter(({ status }, index) => index % keys.length === at && status === 201)
    return new Set(ofKey.map(({ text }) => text)).size
  })

/** The kinds of keys in the store. */
async function leftBehind(): Promise<readonly string[]> {
  const found = (await setting.redis.command('KEYS', '*')) as readonly string[]
  return [...new Set(found.map((key) => (key.startsWith('{') ? key.replace(/^.*\}:/, '') : 'lock')))].sort()
}

describe('200 requests over 20 keys at once', () => {
  test('make 20 payments, and every other request is a replay or told to come back', async () => {
    const before = setting.network.requests['/'] ?? 0
    const replies = await Promise.all(duplicates.map((key) => setting.pay(key)))
    const sent = (setting.network.requests['/'] ?? 0) - before
    const statuses = replies.map(({ status }) => status)
    const fresh = replies.filter((reply) => reply.status === 201 && !replayed(reply))
    const others = replies.filter((reply) => replayed(reply) || reply.status === 409)
    console.log(`200 requests: ${replies.filter(replayed).length} replays, ${sent} requests to the store`)
    expect(effects()).toEqual(keys.map(() => 1))
    expect([fresh.length, others.length, statuses.filter((status) => status >= 500)]).toEqual([20, 180, []])
    expect(told(replies)).toEqual(keys.map(() => 1))
    await expect.poll(leftBehind).toEqual(['fence', 'record'])
  })

  test('make 20 payments though replies are lost, requests come twice, and Redis is down for 2 s', async () => {
    setting.network.inTurn('forward', 'duplicate', 'drop')
    const asking = Promise.all(duplicates.map((key) => setting.payPatiently(key)))
    await setting.network.nextRequest()
    setting.redis.pause()
    await elapse(ms(2_000, 1_000))
    setting.redis.resume()
    const replies = await asking
    setting.network.restore()
    const statuses = new Set(replies.map(({ status }) => status))
    expect([effects(), [...statuses]]).toEqual([keys.map(() => 1), [201]])
    expect(told(replies)).toEqual(keys.map(() => 1))
    await expect.poll(leftBehind).toEqual(['fence', 'record'])
  })
})

describe('a Worker that dies in the middle of 20 payments', () => {
  /** Leaves 20 keys behind, each with a payment made that was reported to nobody. */
  async function die(): Promise<void> {
    const { gathered, release } = setting.payments.gather(keys.length)
    const worker = await startPaymentWorker(setting.bindings)
    const init = { method: 'POST', body: JSON.stringify(payment) }
    const asked = keys.map((key) => ask(worker, '/payments', { ...init, headers: { 'idempotency-key': key } }))
    const cut = Promise.allSettled(asked)
    await gathered
    await worker[Symbol.asyncDispose]()
    release()
    await cut
    expect(effects()).toEqual(keys.map(() => 1))
    // The dead Worker's leases end 30 s later.
    if (rounds(30, 0)) await elapse(30_000)
    else await setting.redis.command('DEL', ...records.map((record) => `lock:${record}`))
  }

  /** Retries each payment, at a Worker with that policy. */
  async function retry(policy: string): Promise<{ readonly replies: readonly Reply[]; readonly log: string }> {
    const lines: string[] = []
    const bindings = { ...setting.bindings, IN_DOUBT: policy }
    await using worker = await startPaymentWorker(bindings, (line) => lines.push(line))
    const init = { method: 'POST', body: JSON.stringify(payment) }
    const asked = keys.map((key) => ask(worker, '/payments', { ...init, headers: { 'idempotency-key': key } }))
    const replies = await Promise.all(asked)
    // The log lines come over a separate connection.
    await expect.poll(() => lines.filter((line) => line.includes('"in-doubt"')).length).toBe(keys.length)
    return { replies, log: lines.join('\n') }
  }

  test('leaves each key in doubt: nobody pays again, every client is told, and so is the operator', async () => {
    await die()
    const { replies, log } = await retry('reject')
    expect(replies.map(typeOf)).toEqual(keys.map(() => '/problems/in-doubt'))
    expect(effects()).toEqual(keys.map(() => 1))
    expect(records.filter((record) => !log.includes(`"${record}"`))).toEqual([])
  })

  test('pays again under "rerun", and only for keys that the operator is told of', async () => {
    await die()
    const { replies, log } = await retry('rerun')
    expect(replies.map(({ status }) => status)).toEqual(keys.map(() => 201))
    const again = records.filter((_, at) => (effects()[at] ?? 0) > 1)
    expect(again.filter((record) => !log.includes(`"${record}"`))).toEqual([])
    expect(effects().filter((count) => count > 2)).toEqual([])
  })

  test('pays once all the same where the payment service knows our keys', async () => {
    setting.payments.refuseRepeats()
    await die()
    const { replies } = await retry('rerun')
    expect(replies.map(({ status }) => status)).toEqual(keys.map(() => 201))
    expect(effects()).toEqual(keys.map(() => 1))
  })
})
