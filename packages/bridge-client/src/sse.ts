import { type EventStreams, eventStreams } from './event-streams.ts'

/**
 * The streams that the mode `sse` stands for. Under the conditions `workerd` and `edge-light`, the package's `imports`
 * replace this file with one that has none: there, streams are a separate import.
 */
export const sse: EventStreams | undefined = eventStreams
