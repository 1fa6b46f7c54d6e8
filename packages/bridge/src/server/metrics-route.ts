import type { Clock } from '@leasehold/core'
import type { Handler } from 'hono'
import { bearerCheck, bearerOf } from '../http/bearer-tokens.ts'
import { noStore, ProblemError } from './problem.ts'

/** Numbers, in the form that whoever collects them reads. */
export interface MetricsPage {
  readonly contentType: string
  readonly text: string
}

/**
 * A page is good for so many times as long as it took to make, so that pages take a tenth of the time at most, however many
 * ask; and no longer than a second.
 */
const freshFor = 10
const longestFreshMs = 1_000
/** A page that takes longer is given up, and whoever asks next has another made. */
const longestMakingMs = 10_000

/** Answers with the numbers; to whoever has the token, if there is one. */
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
      throw new ProblemError(401, 'Send the token of the metrics in the Authorization header, as Bearer')
    }
    const { contentType, text } = await page()
    return c.body(text, 200, { ...noStore, 'content-type': contentType })
  }
}
