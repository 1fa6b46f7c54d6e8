import type { Measured } from '../rounds.ts'

/** What a bench records: the latest run of each scenario, from which tables and charts are regenerated. */
export type Recording = Readonly<Record<string, RecordedScenario>>

export interface RecordedScenario {
  /** Versions and processors. */
  readonly machine: string
  readonly rows: readonly RecordedRow[]
}

/** One row of one table: each list has a value for each round in which the row had its turn. */
interface RecordedRow extends Pick<Measured, 'table' | 'row' | 'role'> {
  readonly rounds: readonly number[]
  readonly noisy: readonly boolean[]
  readonly load: readonly number[]
  readonly slowdown: readonly number[]
  readonly stolen: readonly number[]
  readonly figures: Readonly<Record<string, readonly (number | null)[]>>
}

/** Under which name a run is recorded: one on another version of Node than the bench's own stands beside that. */
export const recordedAs = (scenario: string, node: string | undefined): string =>
  node === undefined ? scenario : `${scenario} on Node ${node}`

/** Significant digits. No figure is known more precisely. */
const digits = 4

export function recorded(machine: string, measured: readonly Measured[]): RecordedScenario {
  const rows = Map.groupBy(measured, ({ table, row }) => JSON.stringify([table, row]))
  return { machine, rows: Array.from(rows.values(), rowOf) }
}

function rowOf(samples: readonly Measured[]): RecordedRow {
  const [{ table, row, role }] = samples as [Measured]
  const each = <T>(take: (sample: Measured) => T): readonly T[] => samples.map(take)
  const names = [...new Set(samples.flatMap(({ figures }) => Object.keys(figures)))]
  return {
    table,
    row,
    role,
    rounds: each(({ round }) => round),
    noisy: each(({ noisy }) => noisy),
    load: each(({ load }) => rounded(load)),
    slowdown: each(({ slowdown }) => rounded(slowdown)),
    stolen: each(({ stolen }) => rounded(stolen)),
    figures: Object.fromEntries(names.map((name) => [name, each(({ figures }) => known(figures[name]))])),
  }
}

const rounded = (value: number): number => Number(value.toPrecision(digits))
const known = (value = Number.NaN): number | null => (Number.isFinite(value) ? rounded(value) : null)

/** The recorded samples; none if the scenario has not been recorded. */
export function measuredIn(recording: Recording, scenario: string): readonly Measured[] {
  return (recording[scenario]?.rows ?? []).flatMap(({ table, row, role, rounds, figures, ...circumstances }) =>
    rounds.map((round, at) => ({
      ...{ scenario, table, row, role, round },
      noisy: circumstances.noisy[at] ?? false,
      load: circumstances.load[at] ?? Number.NaN,
      slowdown: circumstances.slowdown[at] ?? Number.NaN,
      stolen: circumstances.stolen[at] ?? Number.NaN,
      figures: Object.fromEntries(
        Object.entries(figures).flatMap(([name, values]) => {
          const value = values[at]
          return value === null || value === undefined ? [] : [[name, value]]
        }),
      ),
    })),
  )
}

/** A line for each row, so that two runs can be compared. */
export function recordingText(recording: Recording): string {
  const scenarios = Object.entries(recording).map(([name, { machine, rows }]) => {
    const lines = rows.map((row) => `   ${JSON.stringify(row)}`).join(',\n')
    return ` ${JSON.stringify(name)}: {\n  "machine": ${JSON.stringify(machine)},\n  "rows": [\n${lines}\n  ]\n }`
  })
  return `{\n${scenarios.join(',\n')}\n}\n`
}
