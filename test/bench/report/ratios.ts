import { median } from '../measure/statistics.ts'
import type { Measured } from '../rounds.ts'
import type { Column } from '../scenarios/scenario.ts'
import { medianOf } from './median-of.ts'

/**
 * What our first contestant's figures are to those of the first floor that has them, or of each where the column says so,
 * and to those of the best other.
 *
 * A ratio is taken within each round, and the median of those counts: what slowed a whole round down cancels out. The best
 * other is the one with the best median, in that figure, among those none of whose waiters failed.
 */
export function ratioRows(columns: readonly Column[], measured: readonly Measured[]): readonly string[][] {
  const ours = measured.find(({ role }) => role === 'ours')?.row
  if (ours === undefined) return []
  const floors = rowsOf(measured, 'floor')
  const others = rowsOf(measured, 'other').filter((row) => !(medianOf(of(measured, row), 'failed') > 0))

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

const has = (samples: readonly Measured[], { name }: Column): boolean =>
  samples.some(({ figures }) => figures[name] !== undefined)

function best(rows: readonly string[], measured: readonly Measured[], column: Column): string | undefined {
  const value = (row: string): number => medianOf(of(measured, row), column.name)
  const order = rows.filter((row) => has(of(measured, row), column)).toSorted((a, b) => value(a) - value(b))
  return column.better === 'more' ? order.at(-1) : order[0]
}

function ratio(measured: readonly Measured[], { name }: Column, ours: string, rival: string): string {
  const theirs = new Map(of(measured, rival).map(({ round, figures }) => [round, figures[name] ?? Number.NaN]))
  const ratios = of(measured, ours).map(
    ({ round, figures }) => (figures[name] ?? Number.NaN) / (theirs.get(round) ?? 0),
  )
  const value = median(ratios.filter((each) => Number.isFinite(each)))
  return Number.isNaN(value) ? '–' : `${value.toPrecision(2)} ×`
}
