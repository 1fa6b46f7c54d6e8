import type { IoredisStream } from './ioredis-client.ts'

/**
 * How many calls may have been given up on a socket since its last answer, and how long it may stay silent then, in
 * milliseconds, before nothing more is sent there. A connection that has died without a word looks ready for many minutes,
 * and the client keeps whatever it is handed.
 */
const mostGivenUp = 1_000
const longestSilenceMs = 2_000

/** What was given up on a socket since it last answered, and since when that is too much, in monotonic milliseconds. */
const silences = new WeakMap<IoredisStream, { givenUp: number; sinceMs: number }>()

/** Nobody waits any more for the answer to a call that was sent there. */
export function countGivenUp(stream: IoredisStream | undefined): void {
  if (!stream) return
  const silence = silences.get(stream) ?? { givenUp: 0, sinceMs: Infinity }
  if (++silence.givenUp === mostGivenUp) silence.sinceMs = performance.now()
  silences.set(stream, silence)
}

/** The server has answered there. It answers in order, so what was given up before is off the client's hands. */
export function noteAnswer(stream: IoredisStream | undefined): void {
  if (stream) silences.delete(stream)
}

/** Whether nothing should be sent there, until it answers or another takes its place. */
export function isSilent(stream: IoredisStream | undefined): boolean {
  const silence = stream && silences.get(stream)
  return silence !== undefined && performance.now() - silence.sinceMs >= longestSilenceMs
}
