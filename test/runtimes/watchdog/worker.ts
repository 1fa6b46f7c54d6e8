import { leaseWatchdog } from '@leasehold/cloudflare'
import { world } from './world.ts'

/** It runs in the process of the tests, so a test decides what its store and its clock are. */
export class LeaseWatchdog extends leaseWatchdog(() => world.settings) {}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {}
