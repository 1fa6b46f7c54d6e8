/* In place of `@leasehold/core/sharing`: what a locker would do in workerd if it did not ask where it runs. */

import { localQueue } from '../../../packages/core/src/local-queue/local-queue.ts'
import { clockWithin, contextKeeper, type Home } from '../../../packages/core/src/sharing/home-context.ts'

export { renewalLanes } from '../../../packages/core/src/lease/renewal-lanes.ts'
export { clockWithin }

export const sharesBetweenCalls = (): boolean => true

export function sharedQueue(context: Parameters<typeof localQueue>[0]): () => ReturnType<typeof localQueue> {
  const queue = localQueue(context)
  return () => queue
}

export function homeContext(): Home {
  const keep = contextKeeper()
  return (task) => new Promise((resolve) => keep(() => resolve(task())))
}
