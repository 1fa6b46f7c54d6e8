import { systemClock } from '@leasehold/core'
import { Hono } from 'hono'
import { methods } from '../server/methods.ts'
import { type MetricsPage, metricsRoute } from '../server/metrics-route.ts'
import { ProblemError, problem } from '../server/problem.ts'

/** `/metrics` and nothing else, for an address of its own; to whoever has the token, if there is one. */
export function metricsApp(page: () => Promise<MetricsPage>, token: string | undefined): Hono {
  const app = new Hono()
  app.onError((error, c) =>
    error instanceof ProblemError
      ? problem(c, error.status, error.message)
      : problem(c, 500, 'The numbers cannot be told'),
  )
  app.notFound((c) => problem(c, 404, 'The path is /metrics'))
  app.use(async (c, next) => {
    c.header('cache-control', 'no-store')
    await next()
  })
  app.use('/metrics', methods('GET', 'HEAD'))
  app.get('/metrics', metricsRoute(page, token, systemClock))
  return app
}
