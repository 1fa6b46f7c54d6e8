import type { IoredisStream } from './ioredis-client.ts'

/**
 * Calls are held back from a socket once this many were given up since its last answer, and it then stays silent for this many
 * milliseconds. A connection that died without a word looks ready for many minutes, and the client keeps every call it is given.
 */
const mostGivenUp = 1_000
const longestSilenceMs = 2_000

/**
 * How often one call is let through all the same. Without it a silence might never end: if the client itself gives calls up (its
 * option `commandTimeout`), the late answers of a server that was only held up reach nobody.
 */
const probeEveryMs = 500

interface Silence {
  /** Calls given up since the last answer. */
  givenUp: number
  /** When the socket counts as silent, and from then on when the next call may be sent; monotonic. */
  silentFromMs: number
  nextProbeMs: number
}

const silences = new WeakMap<IoredisStream, Silence>()

/** A call that was sent on this socket was given up. */
export function countGivenUp(stream: IoredisStream | undefined): void {
  if (!stream) return
  const silence = silences.get(stream) ?? { givenUp: 0, silentFromMs: Infinity, nextProbeMs: Infinity }
  silences.set(stream, silence)
  if (++silence.givenUp !== mostGivenUp) return
  silence.silentFromMs = performance.now() + longestSilenceMs
  silence.nextProbeMs = silence.silentFromMs + probeEveryMs
}

/** The server answered on this socket. It answers in order, so the client no longer keeps the calls given up before. */
export function noteAnswer(stream: IoredisStream | undefined): void {
  if (stream) silences.delete(stream)
}

/**
 * Whether a call may be sent on this socket now; asking counts as sending. A silent socket gets only one call per interval, until
 * it answers or is replaced.
 */
export function takesCall(stream: IoredisStream | undefined): boolean {
  const silence = stream && silences.get(stream)
  const nowMs = performance.now()
  if (!silence || nowMs < silence.silentFromMs) return true
  if (nowMs < silence.nextProbeMs) return false
  silence.nextProbeMs = nowMs + probeEveryMs
  return true
}
