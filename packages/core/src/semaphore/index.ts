/** Semaphores: at most a given number of permits at a time. */
export type { PermitLease, PermitWork } from './permit-lease.ts'
export type { PermitOptions, SemaphoreOptions, TryPermitOptions } from './permit-options.ts'
export { type Semaphore, semaphore } from './semaphore.ts'
export type { PermitHolder, PermitWaiter, SemaphoreState } from './semaphore-state.ts'
