/*
 * A separate process that holds many renewed leases while it is busy for 60 % of its time. Arguments: the port of a
 * Redis, the prefix, how many leases, their ttl in milliseconds.
 */
import { createLocker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

const [port, prefix = '', count, ttl] = process.argv.slice(2)
const redis = quiet(new Redis(Number(port)))
let lost = 0
const locks = createLocker({
  store: ioredisStore(redis, { prefix, fenceMemory: '30s' }),
  ttl: Number(ttl),
  onEvent: ({ type }) => {
    if (type === 'lost') lost++
  },
})
let taken = 0
for (let first = 0; first < Number(count); first += 500) {
  const keys = Array.from({ length: Math.min(500, Number(count) - first) }, (_, index) => `k${first + index}`)
  taken += (await Promise.all(keys.map((key) => locks.tryAcquire(key)))).filter((lease) => lease !== null).length
}
const busyMs = 30
const load = setInterval(() => {
  const until = performance.now() + busyMs
  while (performance.now() < until);
}, 50)
process.send?.({ taken })
process.once('message', () => {
  clearInterval(load)
  process.send?.({ lost })
  process.exit()
})
