import { contestantNamed } from '../contestants/index.ts'
import type { Measured } from '../rounds.ts'
import { alternatingTable } from '../scenarios/alternating.ts'
import { burstTable } from '../scenarios/burst.ts'
import { hotKeyTable } from '../scenarios/hot-key.ts'
import { uncontendedTable } from '../scenarios/uncontended.ts'
import { medianOf } from './median-of.ts'
import { best, ratioOf, rivalsAmong } from './ratios.ts'

/** What one of our figures has to be, in one table. */
interface Gate {
  readonly scenario: string
  readonly table: string
  readonly figure: string
  readonly title: string
  /** The row that the figure is divided by; if missing, the figure itself is judged. */
  readonly rival?: string | typeof bestOther
  readonly atMost?: number
  readonly atLeast?: number
  /** A bench that misses the gate has failed. What is not gated is only reported. */
  readonly isGated?: boolean
}

export interface Verdict {
  readonly text: string
  readonly isHeld: boolean
  readonly isGated: boolean
}

/** The best library that uses the same client. */
const bestOther = Symbol('best other')
const ours = 'leasehold'

const uncontended = (inFlight: number) => ({
  scenario: 'uncontended',
  table: uncontendedTable('ioredis', inFlight),
})
const alternating = { scenario: 'alternating', table: alternatingTable }
const handOff = { scenario: 'handoff', table: 'W = 100, hold 5 ms, 1 process' }

/** Gated figures are compared with floors of our own: we cannot promise what others make of the same machine. */
const gates: readonly Gate[] = [
  { ...alternating, figure: 'p50', title: 'p50', rival: 'scripts-ioredis', atMost: 1.1, isGated: true },
  { ...alternating, figure: 'cpu', title: 'client CPU', rival: 'scripts-ioredis', atMost: 1.3, isGated: true },
  {
    ...uncontended(16),
    figure: 'rate',
    title: 'pairs/s',
    rival: 'scripts-batched-ioredis',
    atLeast: 0.85,
    isGated: true,
  },
  {
    ...uncontended(256),
    figure: 'rate',
    title: 'pairs/s',
    rival: 'scripts-batched-ioredis',
    atLeast: 0.85,
    isGated: true,
  },
  { ...uncontended(16), figure: 'allocated', title: 'kB allocated by withLock', atMost: 12 },
  { ...uncontended(16), figure: 'rate', title: 'pairs/s', rival: 'raw-ioredis', atLeast: 2 },
  { ...uncontended(256), figure: 'rate', title: 'pairs/s', rival: 'raw-ioredis', atLeast: 2.3 },
  { ...alternating, figure: 'p50', title: 'p50', rival: bestOther, atMost: 1 },
  { ...uncontended(16), figure: 'rate', title: 'pairs/s', rival: bestOther, atLeast: 1 },
  { ...uncontended(256), figure: 'rate', title: 'pairs/s', rival: bestOther, atLeast: 1 },
  { ...handOff, figure: 'p50', title: 'p50', rival: 'floor: PUBLISH', atMost: 0.06 },
  { ...handOff, figure: 'drainOfIdeal', title: 'drain ÷ ideal', atMost: 1.06 },
  { scenario: 'hotkey', table: hotKeyTable(1), figure: 'rate', title: 'acquired/s', rival: bestOther, atLeast: 15 },
  { scenario: 'burst', table: burstTable(10_000), figure: 'failed', title: 'failed', atMost: 0 },
]

/** The verdict on each gate that these measurements can judge. */
export function verdicts(measured: readonly Measured[]): readonly Verdict[] {
  return gates.flatMap((gate) => {
    const of = measured.filter(({ scenario, table }) => scenario === gate.scenario && table === gate.table)
    const rival = gate.rival === bestOther ? bestOn(of, gate) : gate.rival
    const value =
      rival === undefined
        ? medianOf(
            of.filter(({ row }) => row === ours),
            gate.figure,
          )
        : ratioOf(of, gate.figure, ours, rival)
    if (Number.isNaN(value) || (gate.rival !== undefined && rival === undefined)) return []
    const { atMost = Number.POSITIVE_INFINITY, atLeast = 0, isGated = false } = gate
    const isHeld = value <= atMost && value >= atLeast
    const limit = gate.atMost === undefined ? `≥ ${gate.atLeast}` : `≤ ${gate.atMost}`
    const what = `${gate.scenario}, ${gate.table}: ${gate.title}${rival === undefined ? '' : ` ÷ ${rival}`}`
    return [{ text: `${what} = ${Number(value.toPrecision(3))} (${limit})`, isHeld, isGated }]
  })
}

function bestOn(measured: readonly Measured[], { figure, atMost }: Gate): string | undefined {
  const { client } = contestantNamed(ours)
  const others = [...new Set(measured.filter(({ role }) => role === 'other').map(({ row }) => row))]
  const same = others.filter((row) => contestantNamed(row).client === client)
  return best(rivalsAmong(same, measured), measured, { name: figure, better: atMost === undefined ? 'more' : 'less' })
}

/** The verdicts as text, the gated ones first. */
export function gateLines(measured: readonly Measured[]): readonly string[] {
  const all = verdicts(measured)
  const line = ({ text, isHeld }: Verdict): string => `  ${isHeld ? 'held  ' : 'MISSED'}  ${text}`
  const part = (title: string, some: readonly Verdict[]): readonly string[] =>
    some.length === 0 ? [] : [title, ...some.map(line)]
  return [
    ...part(
      'Gates, against our own floors',
      all.filter(({ isGated }) => isGated),
    ),
    ...part(
      'Targets',
      all.filter(({ isGated }) => !isGated),
    ),
  ]
}
