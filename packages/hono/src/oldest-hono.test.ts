import { createLocker } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import type { Hono } from 'hono'
import { Hono as Hono48 } from 'hono-4-8'
import { bodyLimit } from 'hono-4-8/body-limit'
import { validator } from 'hono-4-8/validator'
import { expect, it } from 'vitest'
import { idempotent, locked } from './index.ts'

/** The oldest Hono that the package supports; its types differ from those of the newest. */
const app = new Hono48() as unknown as Hono
const locks = createLocker({ store: memoryStore() })
const once = idempotent({ locks, scope: 'all' })
const sent = (key: string, body: string, type: string): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'idempotency-key': key, 'content-type': type },
})

app.use(bodyLimit({ maxSize: 100 }) as never)
app.post('/json', validator('json', (value) => value) as never, once, async (c) => c.json(await c.req.json()))
app.post('/form', once, async (c) => c.json(await c.req.parseBody()))
app.post('/form-read-before', validator('form', (value) => value) as never, once, (c) => c.text('done'))
app.use('/parsed', async (c, next) => {
  await c.req.parseBody()
  await next()
})
app.post('/parsed', once, (c) => c.text('done'))
app.get('/', locked({ locks, key: () => 'k' }), (c) => c.text(c.var.lease.key))

it('Hono 4.8 runs a route under a lock', async () => {
  expect(await (await app.request('/')).text()).toBe('k')
})

it.each([
  ['/json', '{"a": 1}', 'application/json'],
  ['/form', 'a=1', 'application/x-www-form-urlencoded'],
])('Hono 4.8 runs %s once', async (path, body, type) => {
  const first = await app.request(path, sent(path, body, type))
  const second = await app.request(path, sent(path, body, type))
  expect([first.status, second.headers.get('idempotency-replayed'), await second.text()]).toEqual([
    200,
    'true',
    await first.text(),
  ])
})

it('Hono 4.8 keeps the bytes of a form that was validated before', async () => {
  const form = sent('form-read-before', 'a=1', 'application/x-www-form-urlencoded')
  const answers = [await app.request('/form-read-before', form), await app.request('/form-read-before', form)]
  expect(answers.map(({ status, headers }) => [status, headers.get('idempotency-replayed')])).toEqual([
    [200, null],
    [200, 'true'],
  ])
})

it('Hono 4.8 has not kept the bytes of a form that was parsed before, which is a mistake of the program', async () => {
  const response = await app.request('/parsed', sent('parsed', 'a=1', 'application/x-www-form-urlencoded'))
  expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('misconfigured')])
})
