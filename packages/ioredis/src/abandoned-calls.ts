import type { IoredisStream } from './ioredis-client.ts'

/**
 * How many calls may lie unanswered on one socket after their callers have given up. A connection that has silently died
 * looks ready for many minutes, and the client keeps whatever it is handed.
 */
const mostAbandoned = 1_000

const abandoned = new WeakMap<IoredisStream, number>()

/** One more, or one less, that lies on this socket. */
export function countAbandoned(stream: IoredisStream | undefined, by: 1 | -1): void {
  if (stream) abandoned.set(stream, (abandoned.get(stream) ?? 0) + by)
}

/** Whether nothing more should be sent there until it answers, or another takes its place. */
export const isSwamped = (stream: IoredisStream | undefined): boolean =>
  stream !== undefined && (abandoned.get(stream) ?? 0) >= mostAbandoned
