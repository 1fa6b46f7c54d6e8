import type { EventStreams } from './event-streams.ts'

/** Streams come with their import here: see `sse.ts`, which this file replaces under `workerd` and `edge-light`. */
export const sse: EventStreams | undefined = undefined
