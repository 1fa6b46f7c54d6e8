import { expect } from 'vitest'
import { soak } from '../support/scale.ts'

/** How much later than its limit a call may end, in milliseconds. */
const slackMs = 500
const tickMs = 10
/** A timer that is later than this, in milliseconds, shows that the process did not get to run. */
const punctualMs = 5
/** A call whose timers are late is given that much more time for answers that wait unread, at most this, in milliseconds. */
const mostGraceMs = 1_000

/**
 * Claims that a call ends within its limit and half a second. Returns what the call ended with.
 *
 * The soak has the machine to itself and takes that literally. `npm test` does not count the time in which this process
 * did not get to run, because other work keeps the machine busy.
 */
export async function inTime<T>(call: Promise<T>, withinMs: number): Promise<T> {
  const startedAtMs = performance.now()
  let stalledMs = 0
  let lastMs = startedAtMs
  const tick = (): void => {
    const lateMs = performance.now() - lastMs - tickMs
    if (lateMs > punctualMs) stalledMs += lateMs
    lastMs = performance.now()
  }
  const ticks = setInterval(tick, tickMs)
  const ended = await call.finally(() => clearInterval(ticks))
  tick()
  const forgivenMs = soak ? 0 : stalledMs + Math.min(stalledMs, mostGraceMs)
  expect(lastMs - startedAtMs - forgivenMs).toBeLessThan(withinMs + slackMs)
  return ended
}
