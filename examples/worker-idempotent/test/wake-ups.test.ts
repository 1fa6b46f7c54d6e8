import { afterAll, beforeAll, expect, test } from 'vitest'
import { payment, type Setting, startPaymentWorker, startSetting } from './setting.ts'

/** Long enough that a waiter that polls asks several times. */
const watchedMs = 500

let setting: Setting
beforeAll(async () => {
  setting = await startSetting()
  // From here on the server knows the scripts, and every command is sent once.
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
  const second = fetch(`${other.url}/payments`, init)
  await begins()
  const before = sent()
  await new Promise((resolve) => setTimeout(resolve, watchedMs))
  const waiting = sent() - before
  release()
  const { status, headers } = await second
  const answer = [(await first).status, status, headers.get('idempotency-replayed')]
  // The Worker that paid sent two more: it stored the answer and unlocked.
  return { waiting, inAll: sent() - begun - 2, answer }
}

/** A waiter relies on the bridge for half a minute, and a call waits for 2 s: a waiter that got the lock was woken. */
test('a request waits through a bridge without a command, and is woken when another Worker has paid', async () => {
  const waitOpens = (): Promise<void> => expect.poll(waits).toBe('1')
  const told = await waitFor('woken', setting.bindings, waitOpens)
  expect(told).toEqual({ waiting: 0, inAll: 5, answer: [201, 201, 'true'] })
  await expect.poll(waits).toBe('0')
})

test('a request polls without a bridge', async () => {
  const { BRIDGE_TOKEN: _, ...bindings } = setting.bindings
  const asks = (): Promise<unknown> => setting.network.nextRequest()
  const { waiting, answer } = await waitFor('polling', bindings, asks)
  expect([waiting > 2, answer]).toEqual([true, [201, 201, 'true']])
})

test('a request that waits in vain costs two commands: a check of the answers, and one try', async () => {
  const { gathered, release } = setting.payments.gather(1)
  const first = setting.pay('in-vain')
  await gathered
  const before = sent()
  expect((await setting.pay('in-vain')).status).toBe(409)
  expect(sent() - before).toBe(2)
  release()
  expect((await first).status).toBe(201)
})
