/*
 * A connection that died without notice looks ready for many minutes, and its client keeps every call it is given. A
 * line is the object that stands for one such connection, such as its socket; whatever replaces a lost connection is
 * another line.
 */

/**
 * Calls are held back from a line once this many have been given up since its last answer and it then stays silent for
 * this many milliseconds.
 */
const mostGivenUp = 1_000
const longestSilenceMs = 2_000

/**
 * How often one call is let through nevertheless, in milliseconds. Without it a silence might never end: if the client
 * itself gives calls up (`commandTimeout` in ioredis), the late answers of a server that was only slow reach nobody.
 */
const probeEveryMs = 500

interface Silence {
  /** Calls given up since the last answer. */
  givenUp: number
  /** When the line begins to count as silent, and when the next call may be sent after that; monotonic milliseconds. */
  silentFromMs: number
  nextProbeMs: number
}

const silences = new WeakMap<object, Silence>()

/** Counts a call that was sent on this line and given up. */
export function countGivenUp(line: object | undefined): void {
  if (!line) return
  const silence = silences.get(line) ?? { givenUp: 0, silentFromMs: Infinity, nextProbeMs: Infinity }
  silences.set(line, silence)
  if (++silence.givenUp !== mostGivenUp) return
  silence.silentFromMs = performance.now() + longestSilenceMs
  silence.nextProbeMs = silence.silentFromMs + probeEveryMs
}

/** Notes an answer on this line. The server answers in order, so the client has dropped the calls given up before. */
export function noteAnswer(line: object | undefined): void {
  if (line) silences.delete(line)
}

/**
 * Whether a call may be sent on this line now; asking counts as sending. A silent line gets only one call per interval,
 * until it answers or is replaced.
 */
export function takesCall(line: object | undefined): boolean {
  const silence = line && silences.get(line)
  if (!silence) return true
  const nowMs = performance.now()
  if (nowMs < silence.silentFromMs) return true
  if (nowMs < silence.nextProbeMs) return false
  silence.nextProbeMs = nowMs + probeEveryMs
  return true
}
