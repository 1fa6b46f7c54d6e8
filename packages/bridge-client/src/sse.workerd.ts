import type { EventStreams } from './event-streams.ts'

/** Streams come with their import here. This module takes the place of the one that has them under `workerd` and `edge-light`. */
export const sse: EventStreams | undefined = undefined
