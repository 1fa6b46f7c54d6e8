import type { Clock } from '@leasehold/core'
import type { Handler } from 'hono'
import { bearerCheck, bearerOf } from '../http/bearer-tokens.ts'
import { noStore, ProblemError } from './problem.ts'

/** A metrics page, for Prometheus for example. */
export interface MetricsPage {
  readonly contentType: string
  readonly text: string
}

/**
 * A page is served for ten times as long as it took to make, but for at most a second. So making pages takes at most a
 * tenth of the time, however many requests there are.
 */
const freshFor = 10
const longestFreshMs = 1_000
/** If making a page takes longer than this, in milliseconds, the next request makes another. */
const longestMakingMs = 10_000

/** Answers with the page. If there is a token, the request must have it. */
export function metricsRoute(make: () => Promise<MetricsPage>, token: string | undefined, clock: Clock): Handler {
  const tokenOf = bearerCheck(token === undefined ? [] : [token])
  let last: { readonly page: Promise<MetricsPage>; untilMs: number } | undefined
  function page(): Promise<MetricsPage> {
    const startMs = clock.monotonicMs()
    if (last && startMs < last.untilMs) return last.page
    const made = { page: Promise.resolve().then(make), untilMs: startMs + longestMakingMs }
    const done = (): void => {
      const nowMs = clock.monotonicMs()
      made.untilMs = nowMs + Math.min(freshFor * (nowMs - startMs), longestFreshMs)
    }
    made.page.then(done, done)
    last = made
    return made.page
  }
  return async (c) => {
    if (token !== undefined && (await tokenOf(bearerOf(c.req.header('authorization')))) === undefined) {
      throw new ProblemError(401, 'Send the metrics token in the Authorization header, as Bearer')
    }
    const { contentType, text } = await page()
    return c.body(text, 200, { ...noStore, 'content-type': contentType })
  }
}
