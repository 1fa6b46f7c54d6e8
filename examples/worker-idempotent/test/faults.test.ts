import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { payment, type Reply, recordOf, type Setting, startSetting } from './setting.ts'

let setting: Setting
beforeAll(async () => {
  setting = await startSetting()
})
afterAll(() => setting[Symbol.asyncDispose]())

const paymentsFor = (key: string): number => setting.payments.payments.filter((each) => each === recordOf(key)).length
const replayed = ({ headers }: Reply): boolean => headers.get('idempotency-replayed') === 'true'

// Local workerd always lets the work continue. Without `waitUntil`, Cloudflare would end it when its client leaves.
test('a payment goes on when its client leaves, and the retry finds it', async () => {
  const { gathered, release } = setting.payments.gather(1)
  const client = new AbortController()
  const left = setting.pay('left', payment, client.signal)
  await gathered
  client.abort()
  await expect(left).rejects.toThrow()
  release()
  const retry = await setting.payPatiently('left')
  expect([retry.status, replayed(retry), paymentsFor('left')]).toEqual([201, true, 1])
})

describe('when the lock is taken away during the payment', () => {
  const takeAway = (key: string): Promise<unknown> => setting.redis.command('DEL', `lock:${recordOf(key)}`)

  test('nobody pays again: a retry is told that the outcome is not known, until it is', async () => {
    const { gathered, release } = setting.payments.gather(1)
    const first = setting.pay('taken')
    await gathered
    await takeAway('taken')
    const second = await setting.pay('taken')
    release()
    expect([second.status, second.body['type']]).toEqual([409, '/problems/in-doubt'])
    expect([(await first).status, replayed(await first)]).toEqual([201, false])
    const retry = await setting.pay('taken')
    expect([retry.text, replayed(retry), paymentsFor('taken')]).toEqual([(await first).text, true, 1])
  })
})

describe('when the store does not answer', () => {
  const unavailable = { status: 503, body: { type: '/problems/store-unavailable', status: 503 } }

  test('whether it granted the lock, nothing is paid, and the lock is given back after the 503', async () => {
    // From here on the server knows the scripts, so no request is sent for them.
    await setting.pay('first')
    // The request is sent again after half of its time for an answer.
    const granted = [setting.network.dropNextReply('silence'), setting.network.dropNextReply('silence')]
    const reply = setting.pay('silent')
    await Promise.all(granted)
    expect(await setting.redis.command('EXISTS', `lock:${recordOf('silent')}`)).toBe(1)
    expect(await reply).toMatchObject(unavailable)
    expect(paymentsFor('silent')).toBe(0)
    await expect.poll(() => setting.redis.command('EXISTS', `lock:${recordOf('silent')}`)).toBe(0)
  })

  test('whether it stored the answer, the client gets that, and is not told to ask again', async () => {
    const { gathered, release } = setting.payments.gather(1)
    const reply = setting.pay('unsure')
    await gathered
    // The request is sent again after half of its time for an answer.
    const lost = [setting.network.dropNextReply('silence'), setting.network.dropNextReply('silence')]
    release()
    expect(await reply).toMatchObject({ status: 201, body: payment })
    await Promise.all(lost)
    expect((await reply).headers.get('idempotency-recorded')).toBe('unknown')
  })

  test('at all, nothing is paid: 503, and when to ask again', async () => {
    await setting.network.stop()
    const reply = await setting.pay('down')
    expect(reply).toMatchObject(unavailable)
    expect(reply.headers.get('content-type')).toBe('application/problem+json')
    expect([reply.headers.get('retry-after'), paymentsFor('down')]).toEqual(['2', 0])
  })
})
