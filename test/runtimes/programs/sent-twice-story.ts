/*
 * What a program does with locks over connections that are lost before the reply, so that the runtime may send a
 * request again by itself. Arguments: the URL that reaches the gateway through those connections, its own URL, and its
 * token. Prints what it saw, and how many requests it has made itself.
 */
import { createLocker, LeaseLostError, type Locker } from '@leasehold/core'
import { guardedSet } from '@leasehold/core/fencing'
import { fetchStore, fetchTransport } from '@leasehold/upstash'
import { runtime } from './runtime.ts'

const [lossyUrl = '', url = '', token = ''] = process.argv.slice(2)
let sent = 0
const counting: typeof fetch = (...request) => {
  sent++
  return fetch(...request)
}
const lossy = { url: lossyUrl, token, fetch: counting as never }
const outcomes: string[] = []
const locks = createLocker({
  store: fetchStore(lossy),
  ttl: '60s',
  onEvent: (event) => {
    if (event.type === 'released') outcomes.push(event.outcome)
  },
})
/** The requests of this locker are carried out once. */
const others = createLocker({ store: fetchStore({ url, token }), ttl: '60s' })

// So that a connection is kept alive, and the server knows the scripts.
await others.withLock('warm', (lease) => lease.renew({ ttl: '60s' }))
await others.acquire('warm')
await others.revoke('warm')
await locks.withLock('warm', () => undefined)
outcomes.length = 0
const before = sent

const worked: unknown[] = []
for (const key of ['a', 'b', 'c']) {
  worked.push(
    await locks.withLock(key, async (lease) => {
      await lease.renew({ ttl: '90s' })
      const alone = (await others.tryAcquire(key)) === null
      const outcome = await guardedSet(fetchTransport(lossy), `data-${key}`, key, { fence: lease.fence })
      return alone && outcome.stored && lease.remaining() > 60_000
    }),
  )
}
const freed = !(await others.isLocked('a'))

/**
 * The outcome of a lease that is revoked during its work, and whose lock may be taken by another before it is released.
 */
async function revoked(key: string, by?: Locker): Promise<unknown> {
  try {
    return await locks.withLock(key, async () => {
      await others.revoke(key)
      await by?.acquire(key, { wait: 0 })
      return 'done'
    })
  } catch (error) {
    return error instanceof LeaseLostError && [error.reason, error.result]
  }
}
const losses = [await revoked('revoked'), await revoked('retaken', others)]

const victim = await others.acquire('victim')
const revoking = await locks.revoke('victim').catch(({ code }) => code)
const told = await victim.release()

const own = sent - before
await Promise.all([locks, others].map((each) => each.close({ grace: 0 })))
console.log(JSON.stringify({ runtime, worked, outcomes, freed, losses, revoking, told, own }))
