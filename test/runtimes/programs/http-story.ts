/*
 * What a program does with locks with only `fetch`, over the built packages: waits through a bridge, and without it
 * once the bridge has died. Says when the bridge may die, prints at the end what it saw, and is left to end by itself.
 * Arguments: the URLs of a gateway and of a bridge, and the token for both.
 */
import { bridgeNotifier } from '@leasehold/bridge-client'
import { createLocker, LeaseLostError, type Locker, type WaitStrategy } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'
import { runtime } from './runtime.ts'

const [gatewayUrl = '', bridgeUrl = '', token = ''] = process.argv.slice(2)
const store = fetchStore({ url: gatewayUrl, token })
/** The others hear of what this locker does through the bridge. */
const other = createLocker({ store })

const modes = ['sse', 'long-poll'] as const
type Mode = (typeof modes)[number]
const waiters = modes.map((mode): [Mode, Locker] => [
  mode,
  createLocker({ store, notifier: bridgeNotifier({ url: bridgeUrl, token, mode }), wait: '15s' }),
])

/** The ttl of a renewed lease: each renewal must be answered within a third of it, even on a busy machine. */
const ttlMs = 5_000
/** A waiter with this strategy is woken by the bridge, or not at all. */
const never: WaitStrategy = { delayMs: () => 3_600_000 }

const elapse = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
async function until(claim: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await claim())) await elapse(50)
}
async function timeOf(settles: Promise<unknown>): Promise<number> {
  const start = performance.now()
  await settles
  return Math.round(performance.now() - start)
}

/** Resolves when the bridge has `count` connections of this kind. */
function opened(mode: Mode, count: number): Promise<void> {
  const line = `\nleasehold_bridge_${mode === 'sse' ? 'streams' : 'waits'} ${count}\n`
  const headers = { authorization: `Bearer metrics-${token}` }
  return until(async () => (await (await fetch(`${bridgeUrl}/metrics`, { headers })).text()).includes(line))
}

async function withTheBridge(mode: Mode, locks: Locker) {
  const held = await other.acquire(mode)
  const acquiring = locks.acquire(mode, { strategy: never })
  await opened(mode, 1)
  const releasing = held.release()
  const wokenMs = await timeOf(acquiring)
  const lease = await acquiring
  const released = [await releasing, await lease.release()]

  const excludes = await locks.withLock(mode, async () => (await other.tryAcquire(mode)) === null)
  const freed = !(await other.isLocked(mode))

  const kept = await other.acquire(mode)
  const controller = new AbortController()
  const reason = new Error('no more')
  const settled = locks.acquire(mode, { signal: controller.signal }).catch((error: unknown) => error)
  await opened(mode, 1)
  controller.abort(reason)
  const aborted = (await settled) === reason
  const closedMs = await timeOf(opened(mode, 0))
  await kept.release()

  const { signal } = await locks.acquire(mode, { ttl: ttlMs })
  await other.revoke(mode)
  // Polled, like work that checks the signal: a lease that is waited for keeps no process alive.
  const toldMs = await timeOf(until(() => signal.aborted))
  const lost = signal.reason instanceof LeaseLostError && signal.reason.reason
  return { commands: lease.commands, released, excludes, freed, aborted, lost, wokenMs, closedMs, toldMs }
}

const renewed = await other.acquire('renewed', { ttl: ttlMs })
const expiresAt = performance.now() + ttlMs
const alive = await Promise.all(waiters.map(([mode, locks]) => withTheBridge(mode, locks)))

const held = await Promise.all(modes.map((mode) => other.acquire(mode, { ttl: '60s' })))
const acquiring = waiters.map(([mode, locks]) => locks.acquire(mode))
await Promise.all(modes.map((mode) => opened(mode, 1)))
console.log('The bridge may die')
await until(() =>
  fetch(`${bridgeUrl}/healthz`).then(
    async (answer) => !(await answer.text()),
    () => true,
  ),
)
// Long enough for a stream to try to reopen, in vain.
await elapse(2_000)
const releasing = held.map((lease) => lease.release())
const foundMs = await timeOf(Promise.all(acquiring))
await Promise.all(releasing)
const checks = (await Promise.all(acquiring)).map(({ commands }) => commands)

await until(() => performance.now() > expiresAt)
renewed.assertValid()
const kept = await renewed.release()

// When they are closed, each holds a lock, waits for another, and tries to reach the bridge.
await other.acquire('wanted')
const ended = waiters.map(([, locks]) => locks.acquire('wanted').catch(({ code }) => code))
await until(() => other.isLocked('wanted'))
// Nobody closes this one.
await createLocker({ store }).acquire('left behind')
await Promise.all([other, ...waiters.map(([, locks]) => locks)].map((locks) => locks.close({ grace: 1 })))

const [sse, longPoll] = alive
console.log(JSON.stringify({ runtime, sse, longPoll, checks, foundMs, kept, ended: await Promise.all(ended) }))
