import { median } from '../measure/statistics.ts'
import type { Measured } from '../rounds.ts'
import type { Column } from '../scenarios/scenario.ts'
import { medianOf } from './median-of.ts'

/**
 * The ratios of our first contestant's figures to those of the first floor that has them, or of every floor where the
 * column says so, and to those of the best other.
 *
 * A ratio is taken within each round, and the median of those counts: what slowed a whole round down cancels out. The
 * best other is the one with the best median in that figure; see `rivalsAmong`.
 */
export function ratioRows(columns: readonly Column[], measured: readonly Measured[]): readonly string[][] {
  const ours = measured.find(({ role }) => role === 'ours')?.row
  if (ours === undefined) return []
  const floors = rowsOf(measured, 'floor')
  const others = rivalsAmong(rowsOf(measured, 'other'), measured)

  const against = (title: string, rivalIn: (column: Column) => string | undefined): string[] => [
    `${ours} ÷ ${title}`,
    ...columns.map((column) => {
      const rival = column.better && rivalIn(column)
      return rival === undefined ? '' : ratio(measured, column, ours, rival)
    }),
  ]
  const named = (row: string[], rivalIn: (column: Column) => string | undefined): string[] => {
    const rivals = new Set(columns.flatMap((column) => (column.better && rivalIn(column)) ?? []))
    return rivals.size === 0 ? [] : [`${row[0]} (${[...rivals].join(', ')})`, ...row.slice(1)]
  }
  const floorIn = (column: Column) =>
    column.eachFloor ? undefined : floors.find((row) => has(of(measured, row), column))
  const toEach = columns.some(({ eachFloor }) => eachFloor) ? floors : []
  const bestIn = (column: Column) => best(others, measured, column)
  return [
    named(against('floor', floorIn), floorIn),
    ...toEach.map((row) => against(row, (column) => (has(of(measured, row), column) ? row : undefined))),
    named(against('best other', bestIn), bestIn),
  ].filter((row) => row.length > 0)
}

const of = (measured: readonly Measured[], row: string): readonly Measured[] =>
  measured.filter((sample) => sample.row === row)

const rowsOf = (measured: readonly Measured[], role: Measured['role']): readonly string[] => [
  ...new Set(measured.filter((sample) => sample.role === role).map(({ row }) => row)),
]

const has = (samples: readonly Measured[], { name }: Pick<Column, 'name'>): boolean =>
  samples.some(({ figures }) => figures[name] !== undefined)

/**
 * The rows that served everybody: a library that turns waiters away, or lets a few loops have the lock over and over,
 * is fast because it does less work. If all of them left somebody unserved, those that at least turned nobody away.
 */
export function rivalsAmong(rows: readonly string[], measured: readonly Measured[]): readonly string[] {
  const without = (figure: string, some: readonly string[]): readonly string[] =>
    some.filter((row) => !(medianOf(of(measured, row), figure) > 0))
  const patient = without('failed', rows)
  const fair = without('starved', patient)
  return fair.length > 0 ? fair : patient
}

/** The row with the best median in that figure. */
export function best(
  rows: readonly string[],
  measured: readonly Measured[],
  column: Pick<Column, 'name' | 'better'>,
): string | undefined {
  const value = (row: string): number => medianOf(of(measured, row), column.name)
  const order = rows.filter((row) => has(of(measured, row), column)).toSorted((a, b) => value(a) - value(b))
  return column.better === 'more' ? order.at(-1) : order[0]
}

function ratio(measured: readonly Measured[], { name }: Column, ours: string, rival: string): string {
  const value = ratioOf(measured, name, ours, rival)
  return Number.isNaN(value) ? '–' : `${value.toPrecision(2)} ×`
}

/** The ratio of a figure between two rows: the median of the ratios within each round. NaN where there is none. */
export function ratioOf(measured: readonly Measured[], figure: string, ours: string, rival: string): number {
  const theirs = new Map(of(measured, rival).map(({ round, figures }) => [round, figures[figure] ?? Number.NaN]))
  const ratios = of(measured, ours).map(
    ({ round, figures }) => (figures[figure] ?? Number.NaN) / (theirs.get(round) ?? 0),
  )
  return median(ratios.filter((each) => Number.isFinite(each)))
}
