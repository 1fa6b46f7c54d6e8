/* In place of core's `#sharing`, `#renewal-lanes` and `#shared-queue`: a locker that shares in workerd all the same. */

import { contextKeeper, type Home } from '../../../packages/core/src/sharing/home-context.ts'

export { renewalLanes } from '../../../packages/core/src/lease/renewal-lanes.ts'
export { sharedQueue } from '../../../packages/core/src/local-queue/shared-queue.ts'
export { clockWithin } from '../../../packages/core/src/sharing/home-context.ts'

export const sharesBetweenCalls = (): boolean => true

export function homeContext(): Home {
  const keep = contextKeeper()
  return (task) => new Promise((resolve) => keep(() => resolve(task())))
}
