import type { Hono } from 'hono'
import type { BridgeParts } from './bridge-parts.ts'
import { methods } from './methods.ts'
import { metricsRoute } from './metrics-route.ts'
import { problem } from './problem.ts'

/**
 * What operators and their programs ask.
 *
 * @param guardsReadiness whether readiness is told only to those who are let in
 */
export function addHealthRoutes(
  app: Hono,
  { options, watch, clientOf, needsRedis }: BridgeParts,
  guardsReadiness: boolean,
): void {
  const { signal, metrics, clock } = options
  const onlyReads = methods('GET', 'HEAD')
  app.use('/healthz', onlyReads)
  app.get('/healthz', (c) => c.text('ok'))
  app.use('/readyz', onlyReads)
  app.get('/readyz', async (c) => {
    if (guardsReadiness) await clientOf(c)
    if (signal.aborted) return problem(c, 503, 'The bridge is stopping')
    const done = needsRedis()
    const why = await watch.whyNotReady(c.req.raw.signal).finally(done)
    return why === undefined ? c.text('ok') : problem(c, 503, why)
  })
  if (!metrics) return
  app.use('/metrics', onlyReads)
  app.get('/metrics', metricsRoute(metrics.page, metrics.token, clock))
}
