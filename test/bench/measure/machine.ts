import { readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'

/** What else the machine was doing during a turn. */
export interface MachineState {
  /** The system's load average over a minute, our own processes included. */
  readonly load: number
  /** Elapsed time of some work over its processor time, before or after the turn: 1 on an idle machine. */
  readonly slowdown: number
  /** The share of processor time that the host gave to others meanwhile; 0 where the system does not report it. */
  readonly stolen: number
  readonly noisy: boolean
}

const sampleCpuMs = 20
/** The slowdown when others have a fifth of the time; a turn is noisy above it. */
const noisySlowdown = 1.25
const noisyStolen = 0.05

/** Returns a function that reports the machine's state since, once the turn is over. */
export function watchMachine(): () => MachineState {
  const before = slowdown()
  const ticksBefore = ticks()
  return () => {
    const since = ticks()
    const worst = Math.max(before, slowdown())
    const stolen = (since.stolen - ticksBefore.stolen) / (since.all - ticksBefore.all) || 0
    const noisy = worst > noisySlowdown || stolen > noisyStolen
    return { load: loadavg()[0] ?? 0, slowdown: worst, stolen, noisy }
  }
}

/**
 * Works for a moment and compares the elapsed time with the processor time it got. Unlike the load average, that shows
 * at once, and counts only what others take from us.
 */
function slowdown(): number {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  let usedMs = 0
  while (usedMs < sampleCpuMs) {
    const { user, system } = process.cpuUsage(before)
    usedMs = (user + system) / 1_000
  }
  return (performance.now() - startedAt) / usedMs
}

/** The kernel's counters since it started; the eighth number is the time that the host gave to others. */
function ticks(): { readonly all: number; readonly stolen: number } {
  if (process.platform !== 'linux') return { all: 0, stolen: 0 }
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  const counts = line.split(/\s+/).slice(1, 9).map(Number)
  return { all: counts.reduce((total, count) => total + count, 0), stolen: counts[7] ?? 0 }
}

export const describeMachine = (): string =>
  `Node ${process.versions.node}, ${availableParallelism()} processors, load average ${loadavg()
    .map((load) => load.toFixed(2))
    .join(' ')}`
