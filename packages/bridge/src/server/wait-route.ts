import type { Context } from 'hono'
import type { OnBridgeEvent } from './bridge-events.ts'
import { problem } from './problem.ts'
import type { ReleaseWatch } from './release-watch.ts'
import type { WaitQuery } from './wait-query.ts'

export interface Waiting {
  readonly watch: ReleaseWatch
  /** How many long polls are open. */
  readonly waits: { open: number }
  readonly onEvent: OnBridgeEvent
}

/** Answers a long poll, when there is something to tell or its time is up. */
export async function answerWait(
  c: Context,
  { key, ...query }: WaitQuery,
  { watch, waits, onEvent }: Waiting,
): Promise<Response> {
  const gone = c.req.raw.signal
  const watched = await watch.listenFor(gone)
  if (!watched) return problem(c, 503, 'The bridge hears of no release now; look for yourself and come back')
  onEvent({ type: 'waits', open: ++waits.open })
  const answer = await watched(key).wait({ ...query, gone })
  onEvent({ type: 'waits', open: --waits.open })
  switch (answer.type) {
    case 'changed':
      onEvent({ type: 'wake-up' })
      return c.json({ changed: true })
    case 'unchanged':
      return c.body(null, 204, { 'leasehold-cursor': answer.cursor })
    case 'bad-key':
      return problem(c, 400, 'There can be no lock with this key')
    default:
      // Also for a client that has left, who will not see it.
      return problem(c, 503, 'The bridge cannot tell now; look for yourself and come back')
  }
}
