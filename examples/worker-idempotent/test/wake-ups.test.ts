import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, payment, type Setting, startPaymentWorker, startSetting } from './setting.ts'

/** Long enough for a polling waiter to ask several times. */
const watchedMs = 500

let setting: Setting
beforeAll(async () => {
  setting = await startSetting()
  // From here on the server has the scripts cached, and every command is sent once.
  await setting.pay('first')
})
afterAll(() => setting[Symbol.asyncDispose]())

const sent = (): number => setting.network.requests['/'] ?? 0
const waits = async (): Promise<string | undefined> =>
  /^leasehold_bridge_waits (\d+)$/m.exec(await setting.bridge.metrics())?.[1]

/**
 * One Worker pays while another is asked for the same payment. Resolves with how many commands the other sent while it waited
 * and in all, and with both answers.
 */
async function waitFor(key: string, bindings: Setting['bindings'], begins: () => Promise<unknown>) {
  const { gathered, release } = setting.payments.gather(1)
  const first = setting.pay(key)
  await gathered
  await using other = await startPaymentWorker(bindings)
  const init = { method: 'POST', headers: { 'idempotency-key': key }, body: JSON.stringify(payment) }
  const begun = sent()
  const second = ask(other, '/payments', init)
  await begins()
  const before = sent()
  await new Promise((resolve) => setTimeout(resolve, watchedMs))
  const waiting = sent() - before
  release()
  const { status, headers } = await second
  const answer = [(await first).status, status, headers.get('idempotency-replayed')]
  // The Worker that paid sent one more: it recorded the answer, which frees the lock.
  return { waiting, inAll: sent() - begun - 1, answer }
}

/** A waiter relies on the bridge for half a minute, and a call waits for 2 s: a waiter that got the lock was woken. */
test('a request waits through a bridge without a command, and is woken when another Worker has paid', async () => {
  const waitOpens = (): Promise<void> => expect.poll(waits).toBe('1')
  const told = await waitFor('woken', setting.bindings, waitOpens)
  expect(told).toEqual({ waiting: 0, inAll: 2, answer: [201, 201, 'true'] })
  await expect.poll(waits).toBe('0')
})

test('ten requests that wait for one payment are all told at once, and cost two commands each', async () => {
  const { gathered, release } = setting.payments.gather(1)
  const first = setting.pay('crowd')
  await gathered
  const begun = sent()
  const others = Promise.all(Array.from({ length: 10 }, () => setting.pay('crowd')))
  await expect.poll(waits).toBe('10')
  release()
  const told = (await others).map(({ text, headers }) => [text, headers.get('idempotency-replayed')])
  expect(told).toEqual(told.map(() => [(told[0] ?? [])[0], 'true']))
  expect([(await first).text, sent() - begun - 1]).toEqual([(told[0] ?? [])[0], 20])
})

test('a request polls without a bridge', async () => {
  const { BRIDGE_TOKEN: _, ...bindings } = setting.bindings
  const asks = (): Promise<unknown> => setting.network.nextRequest()
  const { waiting, answer } = await waitFor('polling', bindings, asks)
  expect([waiting > 2, answer]).toEqual([true, [201, 201, 'true']])
})

test('a payment costs two commands, and every later retry one', async () => {
  const before = sent()
  await setting.pay('plain')
  const paid = sent() - before
  await setting.pay('plain')
  console.log(`requests to the store: ${paid} a payment, ${sent() - before - paid} a replay`)
  expect([paid, sent() - before - paid]).toEqual([2, 1])
})

test('a request that waits in vain costs one command', async () => {
  const { gathered, release } = setting.payments.gather(1)
  const first = setting.pay('in-vain')
  await gathered
  const before = sent()
  expect((await setting.pay('in-vain')).status).toBe(409)
  expect(sent() - before).toBe(1)
  release()
  expect((await first).status).toBe(201)
})
