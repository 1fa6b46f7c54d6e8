import type { Hono } from 'hono'
import type { BridgeParts } from './bridge-parts.ts'
import { methods } from './methods.ts'
import { metricsRoute } from './metrics-route.ts'
import { noStore, ProblemError } from './problem.ts'

/**
 * The routes for operators and their tools.
 *
 * @param guardsReadiness whether `/readyz` requires a credential
 */
export function addHealthRoutes(
  app: Hono,
  { options, watch, clientOf, needsRedis }: BridgeParts,
  guardsReadiness: boolean,
): void {
  const { signal, metrics, clock } = options
  const onlyReads = methods('GET', 'HEAD')
  app.use('/healthz', onlyReads)
  app.get('/healthz', (c) => c.text('ok', 200, noStore))
  app.use('/readyz', onlyReads)
  app.get('/readyz', async (c) => {
    if (guardsReadiness) await clientOf(c)
    if (signal.aborted) throw new ProblemError(503, 'The bridge is stopping')
    const done = needsRedis()
    const why = await watch.whyNotReady(c.req.raw.signal).finally(done)
    if (why !== undefined) throw new ProblemError(503, why)
    return c.text('ok', 200, noStore)
  })
  if (!metrics) return
  app.use('/metrics', onlyReads)
  app.get('/metrics', metricsRoute(metrics.page, metrics.token, clock))
}
