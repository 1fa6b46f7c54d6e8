import { systemClock } from '@leasehold/core'
import { Hono } from 'hono'
import { methods } from '../server/methods.ts'
import { type MetricsPage, metricsRoute } from '../server/metrics-route.ts'
import { ProblemError, problem } from '../server/problem.ts'

/** Serves `/metrics` and nothing else, for an address of its own. If there is a token, requests must have it. */
export function metricsApp(page: () => Promise<MetricsPage>, token: string | undefined): Hono {
  const app = new Hono()
  app.onError((error, c) =>
    problem(c, error instanceof ProblemError ? error : new ProblemError(500, 'The numbers are not available')),
  )
  app.notFound((c) => problem(c, new ProblemError(404, 'The path is /metrics')))
  app.use('/metrics', methods('GET', 'HEAD'))
  app.get('/metrics', metricsRoute(page, token, systemClock))
  return app
}
