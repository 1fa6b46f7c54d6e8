import { availableParallelism, loadavg } from 'node:os'

/** What else the machine was doing. */
export interface MachineState {
  /** The system's load average over a minute, our own processes included. */
  readonly load: number
  /** How much longer some work took than its time on a processor: 1 on an idle machine. */
  readonly slowdown: number
  readonly noisy: boolean
}

const sampleCpuMs = 20
/** When others had more than a fifth of the time. */
const noisySlowdown = 1.25

/**
 * Works for a moment and compares the time that took with the processor time it got. Unlike the load average that tells
 * at once, and counts only what others take from us.
 */
export function lookAtMachine(): MachineState {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  let usedMs = 0
  while (usedMs < sampleCpuMs) {
    const { user, system } = process.cpuUsage(before)
    usedMs = (user + system) / 1_000
  }
  const slowdown = (performance.now() - startedAt) / usedMs
  return { load: loadavg()[0] ?? 0, slowdown, noisy: slowdown > noisySlowdown }
}

export const worse = (one: MachineState, other: MachineState): MachineState =>
  one.slowdown > other.slowdown ? one : other

export const describeMachine = (): string =>
  `Node ${process.versions.node}, ${availableParallelism()} processors, load average ${loadavg()
    .map((load) => load.toFixed(2))
    .join(' ')}`
