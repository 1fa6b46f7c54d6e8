import type { ObjectState } from 'cloudflare:test'
import { leaseWatchdog } from '@leasehold/cloudflare'
import { world } from './world.ts'

/** The Worker runs in the tests' process, so a test chooses its store and its clock. */
export class LeaseWatchdog extends leaseWatchdog(() => world.settings) {
  constructor(ctx: ObjectState, env: unknown) {
    world.beforeStart?.(ctx)
    super(ctx, env)
  }
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {}
