/* One process that imports core and requires it: two builds, and what they have in common. Prints it. */
import { createRequire } from 'node:module'
import { createLocker, LeaseholdError } from '@leasehold/core'
import { guardedSet } from '@leasehold/core/fencing'
import { detach, resume } from '@leasehold/core/hand-over'
import { acquireAll } from '@leasehold/core/many'
import { memoryStore } from '@leasehold/core/memory'
import { within } from '@leasehold/core/re-entry'
import { readWriteLock } from '@leasehold/core/read-write'
import { claimRecord } from '@leasehold/core/records'
import { holdAtLeast } from '@leasehold/core/schedule'

const require = createRequire(import.meta.url)
const required = require('@leasehold/core')
const { readWriteLock: requiredReadWriteLock } = require('@leasehold/core/read-write')
const { guardedSet: requiredSet } = require('@leasehold/core/fencing')

const locks = required.createLocker({ store: memoryStore() })
const lease = await locks.acquire('k', { renew: false })
const problem = await locks.acquire('k', { wait: 0 }).catch((error) => error)

const writes = []
const transport = {
  commandDeadlineMs: 1_000,
  cluster: false,
  countsSubscribers: true,
  nodeOf: () => '',
  async run([{ args }]) {
    writes.push({ writer: args[1], turn: Number(args[3]) })
    return [{ type: 'value', value: [['stored']], resent: false }]
  },
}
for (const write of [guardedSet, requiredSet, guardedSet]) {
  await write(transport, 'data', 'text', { fence: lease.fence })
}

const { run } = await claimRecord(locks, 'record', { fingerprint: 'same' })
const completion = await run.complete(null)

const set = await acquireAll(locks, ['a', 'b'])
const hold = await within(locks, set.leases.get('a')).acquire('a')
await set.release()
const kept = await holdAtLeast(locks, '1m').acquire('b')
await kept.release()
const held = [await locks.isLocked('a'), await locks.isLocked('b')]
await hold.release()
held.push(await locks.isLocked('a'))

const taken = await resume(locks, await detach(lease, { ttl: '5s' }))

const write = await readWriteLock(locks, 'doc').write()
const read = await requiredReadWriteLock(locks, 'doc').read({ within: write })
await write.release()

console.log(
  JSON.stringify({
    builds: createLocker === required.createLocker ? 1 : 2,
    known: [problem instanceof LeaseholdError, problem instanceof required.AcquireTimeoutError],
    unknown: problem instanceof required.LeaseLostError,
    claims: completion.type,
    nests: read.remaining() > 0 && (await readWriteLock(locks, 'doc').tryWrite()) === null,
    handsOver: taken.fence > lease.fence,
    held,
    writers: new Set(writes.map(({ writer }) => writer)).size,
    turns: writes.map(({ turn }) => turn),
  }),
)
await read.release()
await taken.release()
await locks.close()
