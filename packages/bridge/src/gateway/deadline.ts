import { UnansweredError } from './gateway-redis.ts'

/**
 * Waits for `ask`, but no longer than `limitMs` and no longer than the client does (`gone`), whatever the adapter does.
 *
 * @throws UnansweredError if the time is up or the client leaves first.
 */
export async function withinDeadline<T>(
  limitMs: number,
  gone: AbortSignal,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (gone.aborted) throw new UnansweredError('no')
  const stop = new AbortController()
  let giveUp = (): void => undefined
  const over = new Promise<never>((_, reject) => {
    giveUp = () => {
      stop.abort()
      // Lets an adapter that has sent nothing say so first. Nobody else can know.
      setTimeout(() => reject(new UnansweredError('unknown')), 0)
    }
  })
  const timer = setTimeout(giveUp, limitMs)
  gone.addEventListener('abort', giveUp)
  try {
    return await Promise.race([ask(stop.signal), over])
  } finally {
    clearTimeout(timer)
    gone.removeEventListener('abort', giveUp)
  }
}
