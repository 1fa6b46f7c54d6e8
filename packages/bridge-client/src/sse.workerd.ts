import type { EventStreams } from './event-streams.ts'

/** In place of the module for event streams under `workerd` and `edge-light`, where they are a separate import. */
export const sse: EventStreams | undefined = undefined
