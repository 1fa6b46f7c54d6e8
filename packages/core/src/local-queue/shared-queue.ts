import { sharesBetweenCalls } from '#sharing'
import type { Context } from '../context.ts'
import { type LocalQueue, localQueue } from './local-queue.ts'

/** The waiters of one process. Call the result each time; it returns undefined where calls share nothing. */
export function sharedQueue(context: Context): () => LocalQueue | undefined {
  const queue = localQueue(context)
  return () => (sharesBetweenCalls() ? queue : undefined)
}
