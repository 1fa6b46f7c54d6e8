import { sharesBetweenCalls } from '#sharing'
import type { Context } from '../context.ts'
import { type LocalQueue, localQueue } from './local-queue.ts'

/** The waiters of one process. Ask at each call; where calls share nothing, the answer is none. */
export function sharedQueue(context: Context): () => LocalQueue | undefined {
  const queue = localQueue(context)
  return () => (sharesBetweenCalls() ? queue : undefined)
}
