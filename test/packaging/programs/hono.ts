import { createLocker, InvalidOptionError } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { idempotent, type LockedOptions, locked } from '@leasehold/hono'
import { Hono } from 'hono'

/** A route under a lock, and one whose second request gets the answer of the first. */
export async function main(): Promise<string> {
  const locks = createLocker({ store: memoryStore() })
  const options: LockedOptions = { locks, key: () => 'k' }
  let runs = 0
  const app = new Hono()
    .get('/locked', locked(options), (c) => c.text(c.var.lease.key))
    .post('/once', idempotent({ locks, scope: 'all' }), (c) => c.text(`${++runs} ${(c.var.run?.fence ?? 0) > 0}`, 201))
  const send = async (): Promise<Response> =>
    app.request('/once', { method: 'POST', headers: { 'idempotency-key': 'k' } })
  await send()
  const texts = [await app.request('/locked'), await send()].map((each) => each.text())
  const [key = '', replayed = ''] = await Promise.all(texts)
  await locks.close()
  try {
    locked({ ...options, wait: -1 })
  } catch (error) {
    if (error instanceof InvalidOptionError) return `${key} ${replayed} ${error.option}`
  }
  return 'no error'
}
