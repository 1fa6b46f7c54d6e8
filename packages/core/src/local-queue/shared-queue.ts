import { sharesBetweenCalls } from '#sharing'
import type { Context } from '../context.ts'
import { type LocalQueue, localQueue } from './local-queue.ts'

/** The waiters of one process. The result returns undefined where calls share nothing. */
export function sharedQueue(context: Context): () => LocalQueue | undefined {
  const queue = localQueue(context)
  /** Asked by the first call. */
  let isShared: boolean | undefined
  return () => {
    isShared ??= sharesBetweenCalls()
    return isShared ? queue : undefined
  }
}
