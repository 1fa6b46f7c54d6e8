import { leaderOf } from '@leasehold/core/election'
import { idFrom, jsonFrom, numberFrom } from '@leasehold/example-shop/input'
import { problemOf } from '@leasehold/example-shop/problem'
import { Hono } from 'hono'
import { book } from './accounts.ts'
import { nightly } from './nightly.ts'
import { print } from './printer.ts'
import { report } from './report.ts'
import { rate } from './slow-api.ts'
import type { Worker } from './work.ts'

/** A worker's jobs, each at its own URL, so that you can start them by hand and see their results. */
export function createApp(worker: Worker): Hono {
  const app = new Hono()
  app.post('/bookings', async (c) => {
    const body = Object(await jsonFrom(c.req))
    const [account, booking] = [idFrom('account', body.account), idFrom('booking', body.booking)]
    return c.json({ account, booking, ...(await book(worker, account, booking)) })
  })
  app.post('/prints', async (c) => {
    const body = Object(await jsonFrom(c.req))
    const document = idFrom('document', body.document)
    await print(worker, document, numberFrom('urgency', body.urgency, 10))
    return c.json({ document, printed: true })
  })
  // In a real worker, a timer or cron calls it.
  app.post('/nightly', async (c) => c.json({ ran: await nightly(worker) }))
  app.get('/reports/:month', async (c) => c.json(await report(worker, idFrom('month', c.req.param('month')))))
  app.get('/rates/:currency', async (c) => c.json(await rate(worker, idFrom('currency', c.req.param('currency')))))
  app.get('/leader', async (c) => c.json({ leader: (await leaderOf(worker.locks, 'scheduler'))?.name ?? null }))
  app.get('/ledger', async (c) => c.json(await worker.ledger.entries()))
  app.onError((error, c) => {
    const { type, message, headers, status } = problemOf(error)
    return c.json({ type, detail: message }, status as 500, headers)
  })
  return app
}
