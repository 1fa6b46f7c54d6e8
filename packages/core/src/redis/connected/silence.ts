/*
 * A connection that died without a word looks ready for many minutes, and its client keeps every call it is given. Here a line is
 * whatever stands for one such connection, such as its socket; what replaces a lost connection is another line.
 */

/**
 * Calls are held back from a line once this many were given up since its last answer, and it then stays silent for this many
 * milliseconds.
 */
const mostGivenUp = 1_000
const longestSilenceMs = 2_000

/**
 * How often one call is let through all the same. Without it a silence might never end: if the client itself gives calls up (its
 * option `commandTimeout` in ioredis), the late answers of a server that was only held up reach nobody.
 */
const probeEveryMs = 500

interface Silence {
  /** Calls given up since the last answer. */
  givenUp: number
  /** When the line counts as silent, and from then on when the next call may be sent; monotonic. */
  silentFromMs: number
  nextProbeMs: number
}

const silences = new WeakMap<object, Silence>()

/** A call that was sent on this line was given up. */
export function countGivenUp(line: object | undefined): void {
  if (!line) return
  const silence = silences.get(line) ?? { givenUp: 0, silentFromMs: Infinity, nextProbeMs: Infinity }
  silences.set(line, silence)
  if (++silence.givenUp !== mostGivenUp) return
  silence.silentFromMs = performance.now() + longestSilenceMs
  silence.nextProbeMs = silence.silentFromMs + probeEveryMs
}

/** The server answered on this line. It answers in order, so the client no longer keeps the calls given up before. */
export function noteAnswer(line: object | undefined): void {
  if (line) silences.delete(line)
}

/**
 * Whether a call may be sent on this line now; asking counts as sending. A silent line gets only one call per interval, until
 * it answers or is replaced.
 */
export function takesCall(line: object | undefined): boolean {
  const silence = line && silences.get(line)
  const nowMs = performance.now()
  if (!silence || nowMs < silence.silentFromMs) return true
  if (nowMs < silence.nextProbeMs) return false
  silence.nextProbeMs = nowMs + probeEveryMs
  return true
}
