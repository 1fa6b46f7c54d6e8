import type { IoredisStream } from './ioredis-client.ts'

/**
 * How many calls may have been given up on a socket since its last answer, and how long it may stay silent then, in
 * milliseconds, before calls are held back there. A connection that has died without a word looks ready for many minutes,
 * and the client keeps whatever it is handed.
 */
const mostGivenUp = 1_000
const longestSilenceMs = 2_000

/**
 * How often one call is let through nevertheless. Without that a silence might never end: the late answers of a server
 * that was only held up reach nobody when the client itself has given the calls up (its option `commandTimeout`).
 */
const probeEveryMs = 500

interface Silence {
  /** Calls given up since the last answer. */
  givenUp: number
  /** When these have become too many for too long, and when the next call may be sent then; monotonic. */
  silentFromMs: number
  nextProbeMs: number
}

const silences = new WeakMap<IoredisStream, Silence>()

/** Nobody waits any more for the answer to a call that was sent there. */
export function countGivenUp(stream: IoredisStream | undefined): void {
  if (!stream) return
  const silence = silences.get(stream) ?? { givenUp: 0, silentFromMs: Infinity, nextProbeMs: Infinity }
  silences.set(stream, silence)
  if (++silence.givenUp !== mostGivenUp) return
  silence.silentFromMs = performance.now() + longestSilenceMs
  silence.nextProbeMs = silence.silentFromMs + probeEveryMs
}

/** The server has answered there. It answers in order, so the client does not keep what was given up before. */
export function noteAnswer(stream: IoredisStream | undefined): void {
  if (stream) silences.delete(stream)
}

/**
 * Whether a call may be sent there now; asking counts as sending it. To a silent connection only one call per interval
 * may, until it answers or another takes its place.
 */
export function takesCall(stream: IoredisStream | undefined): boolean {
  const silence = stream && silences.get(stream)
  const nowMs = performance.now()
  if (!silence || nowMs < silence.silentFromMs) return true
  if (nowMs < silence.nextProbeMs) return false
  silence.nextProbeMs = nowMs + probeEveryMs
  return true
}
