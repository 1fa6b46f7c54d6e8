import { type EventStreams, eventStreams } from './event-streams.ts'

/**
 * What the mode `sse` names. Under the conditions `workerd` and `edge-light` the package's `imports` replace this file with one that
 * has none: there streams come with their import.
 */
export const sse: EventStreams | undefined = eventStreams
