import type { EventStreams } from './event-streams.ts'

/** Replaces `sse.ts` under `workerd` and `edge-light`, where streams are a separate import. */
export const sse: EventStreams | undefined = undefined
