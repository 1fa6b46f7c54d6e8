import { redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { queueOf } from '../packages/core/src/queue/queue-of.ts'
const redis = await startRedis()
const client = new Redis(redis.port)
const store = redisStore(ioredisTransport(client))
const q = queueOf(store)!
const call = callUntil(new AbortController().signal)
let n = 0
const id = () => (++n).toString(16).padStart(32, '0')
const kinds = { exclusive: { name: 'exclusive', capacity: 1 }, semaphore: { name: 'semaphore', capacity: 5 }, rw: { name: 'read-write', capacity: 1_000_000 } } as const
async function usec(): Promise<[number, number]> {
  const stats = await client.info('commandstats')
  const m = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(stats)
  return m ? [Number(m[1]), Number(m[2])] : [0, 0]
}
async function timed(label: string, rounds: number, f: (i: number) => Promise<unknown>) {
  for (let i = 0; i < 3; i++) await f(i)
  await client.config('RESETSTAT')
  for (let i = 0; i < rounds; i++) await f(i + 3)
  const [calls, us] = await usec()
  console.log(label.padEnd(50), (us / calls).toFixed(1), 'µs per script,', calls)
}
for (const waiters of [10, 5000]) for (const [name, kind] of Object.entries(kinds)) {
  await client.flushall()
  const key = 'k'
  const acq = (inbox: string, number: number, permits: number, acquisitionId = id(), ttlMs = 60_000) => ({ key, kind, permits, acquisitionId, ttlMs, waiter: { inbox, number, priorityClass: 0, listens: true, aliveMs: 600_000, windowMs: 40_000 } })
  const inbox = (i: number) => (i % 50).toString(16).padStart(32, 'a')
  const all = kind.capacity
  const g = await q.acquire(acq(inbox(0), 1_000_000, all, id(), 600_000), call)
  if (g.type !== 'granted') throw new Error(JSON.stringify(g))
  const subs = new Redis(redis.port); await subs.subscribe(...Array.from({ length: 50 }, (_, i) => `lock:turn:${inbox(i)}`))
  const ids: string[] = []
  for (let i = 0; i < waiters; i += 100) await Promise.all(Array.from({ length: Math.min(100, waiters - i) }, (_, j) => { ids[i + j] = id(); return q.acquire(acq(inbox(i + j), i + j, 1, ids[i + j]), call) }))
  console.log('---', name, waiters, 'waiters', (await q.inspect(key, call) as any).waiting)
  await timed('repeat of a waiting acquire', 300, () => q.acquire(acq(inbox(waiters - 1), waiters - 1, 1, ids[waiters - 1]), call))
  await timed('enter and leave (mean of both)', 300, async (i) => { await q.acquire(acq(inbox(7), 2_000_000 + i, 1), call); await q.leave({ key, inbox: inbox(7), number: 2_000_000 + i, acquisitionId: undefined }, call) })
  await timed('look, 10 numbers', 300, () => q.look([{ key, inbox: inbox(3), aliveMs: 12_000, numbers: Array.from({ length: 10 }, (_, i) => 3 + 50 * i) }], call))
  await timed('look, 100 numbers', 300, () => q.look([{ key, inbox: inbox(3), aliveMs: 12_000, numbers: Array.from({ length: 100 }, (_, i) => 3 + 50 * i) }], call))
  await timed('inspect', 100, () => q.inspect(key, call))
  let token = g.token
  await q.release([{ key, exclusive: kind.name === 'exclusive', token, keep: 0 }], call)
  const st = await q.inspect(key, call) as any
  console.log('turns', st.waiters.filter((w: any) => w.hasTurn).length)
  let at = 0
  const hand = async () => {
    const i = at++ % waiters
    const r = await q.acquire(acq(inbox(i), i, 1, ids[i]), call)
    if (r.type !== 'granted') throw new Error(JSON.stringify(r) + i)
    return r.token
  }
  const rounds = waiters === 10 ? 4 : 300
  await timed('take a turn and release (mean of both)', rounds, async () => { const t = await hand(); await q.release([{ key, exclusive: kind.name === 'exclusive', token: t, keep: 0 }], call) })
  if (kind.name !== 'exclusive') await timed('renew 1', 50, async () => { })
  subs.disconnect()
}
// uncontended
await client.flushall()
for (const [name, kind] of Object.entries(kinds)) await timed('uncontended acquire and release, ' + name, 500, async (i) => {
  const r = await q.acquire({ key: 'u' + name, kind, permits: 1, acquisitionId: id(), ttlMs: 10_000, waiter: { inbox: 'b'.repeat(32), number: i, priorityClass: 0, listens: true, aliveMs: 12_000, windowMs: 4_000 } }, call) as any
  await q.release([{ key: 'u' + name, exclusive: kind.name === 'exclusive', token: r.token, keep: 0 }], call)
})
await timed('plain acquire and release', 500, async () => {
  const [r] = await store.acquire([{ key: 'plain', acquisitionId: id(), ttlMs: 10_000, fences: 1 }], call) as any
  await store.release([{ key: 'plain', token: r.token }], call)
})
// many holders
for (const holders of [10, 1000, 5000]) {
  const kind = kinds.rw; const key = 'many' + holders; const tokens: string[] = []
  for (let i = 0; i < holders; i++) tokens.push(((await q.acquire({ key, kind, permits: 1, acquisitionId: id(), ttlMs: 600_000, waiter: undefined }, call)) as any).token)
  await timed(`renew 100 of ${holders} readers`, 30, (i) => q.renew(tokens.slice(0, 100).map((token) => ({ key, token, ttlMs: 600_000 + i })), call))
  await timed(`release and acquire, ${holders} readers`, 100, async (i) => { await q.release([{ key, exclusive: false, token: tokens[i % tokens.length]!, keep: 0 }], call); tokens[i % tokens.length] = ((await q.acquire({ key, kind, permits: 1, acquisitionId: id(), ttlMs: 600_000, waiter: undefined }, call)) as any).token })
}
// killed process with 5000 waiters
{
  const key = 'dead'; const kind = kinds.exclusive
  const g = await q.acquire({ key, kind, permits: 1, acquisitionId: id(), ttlMs: 60_000, waiter: undefined }, call) as any
  const subs = new Redis(redis.port); await subs.subscribe('lock:turn:' + 'c'.repeat(32))
  for (let i = 0; i < 5000; i += 100) await Promise.all(Array.from({ length: 100 }, (_, j) => q.acquire({ key, kind, permits: 1, acquisitionId: id(), ttlMs: 60_000, waiter: { inbox: 'c'.repeat(32), number: i + j, priorityClass: 0, listens: true, aliveMs: 60_000, windowMs: 4_000 } }, call)))
  subs.disconnect(); await new Promise((r) => setTimeout(r, 50))
  await client.config('RESETSTAT')
  console.log(await q.release([{ key, exclusive: true, token: g.token, keep: 0 }], call))
  console.log('release that drops 100', await usec())
  await client.config('RESETSTAT')
  for (let i = 0; i < 10; i++) await q.look([{ key, inbox: 'd', aliveMs: 1, numbers: [] }], call)
  const [c, u] = await usec(); console.log('look that drops 100', u / c, (await q.inspect(key, call) as any).waiting)
}
client.disconnect(); await redis.stop()
