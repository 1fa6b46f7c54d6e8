/* In place of `@leasehold/core/sharing`: what a locker would do in workerd if it did not ask where it runs. */
import { clockWithin, contextKeeper, type Home } from '../../../packages/core/src/home-context.ts'
import { localQueue } from '../../../packages/core/src/local-queue.ts'

export { renewalLanes } from '../../../packages/core/src/renewal-lanes.ts'
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
