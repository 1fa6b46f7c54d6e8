import type { Measured } from '../rounds.ts'
import type { Column } from '../scenarios/scenario.ts'
import { circumstances } from './circumstances.ts'
import { medianOf } from './median-of.ts'
import { ratioRows } from './ratios.ts'

/** The tables of some measurements as text: medians over the rounds, and below them the ratios of ours to others. */
export function tables(columns: readonly Column[], measured: readonly Measured[]): string {
  return [...Map.groupBy(measured, ({ table }) => table)].map(([title, of]) => table(title, columns, of)).join('\n')
}

function table(title: string, columns: readonly Column[], measured: readonly Measured[]): string {
  const rows = [...Map.groupBy(measured, ({ row }) => row)].map(([name, of]) => [
    name,
    ...columns.map((column) => shown(medianOf(of, column.name), column.digits)),
  ])
  const lines = [['', ...columns.map((column) => column.title)], ...rows, ...ratioRows(columns, measured)]
  const widths = lines[0]?.map((_, cell) => Math.max(...lines.map((line) => line[cell]?.length ?? 0))) ?? []
  const body = lines.map((line) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '),
  )
  return `\n${title} · ${circumstances(measured)}\n${body.join('\n')}`
}

const shown = (value: number, digits: number): string => (Number.isNaN(value) ? '–' : value.toFixed(digits))
