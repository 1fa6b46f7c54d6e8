/** Jobs that several processes fire: locks that stay taken for a while, however soon the work is done. */
export type { ReleaseAfterRequest, ReleaseAfterStore } from '../store/release-after.ts'
export { type HoldingAtLeast, holdAtLeast } from './hold-at-least.ts'
export { releaseAfterOf } from './release-after-of.ts'
