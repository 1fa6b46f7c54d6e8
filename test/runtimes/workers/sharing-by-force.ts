/* In place of `@leasehold/core/sharing`: what a locker would do in workerd if it did not ask where it runs. */
export { localQueue } from '../../../packages/core/src/local-queue.ts'

export const sharesBetweenCalls = (): boolean => true
