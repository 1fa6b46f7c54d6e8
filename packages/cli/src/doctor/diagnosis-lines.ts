import type { Timing } from '@leasehold/core/check'
import { printable } from '../output/printable.ts'
import { type Column, tableLines } from '../output/table.ts'
import type { Colors, Terminal } from '../output/terminal.ts'
import type { Diagnosis } from './diagnose.ts'
import { wrapped } from './wrapped.ts'

/** A readable line width, where the width of the screen is unknown. */
const usualColumns = 100
const widestSeverity = 'warning'.length

/** What `doctor` prints: the address, the findings, the times, and a count. */
export function diagnosisLines(
  { redis, findings, facts, bridge }: Diagnosis,
  { colors, columns = usualColumns }: Pick<Terminal, 'colors' | 'columns'>,
): readonly string[] {
  const { nodes, prefix } = facts
  const lines = [`${colors.bold(redis)}  prefix ${printable(prefix ?? '')}`]
  for (const { name, report } of nodes) {
    if (!report) continue
    const { product, version, role, cluster, evictionPolicy } = report
    const words = [name, product, version, cluster ? 'cluster' : '', role, evictionPolicy].filter(Boolean)
    lines.push(`  ${printable(words.join(' '))}`)
  }
  if (bridge) lines.push(`${colors.bold(bridge.url)}  bridge`)
  lines.push('')
  for (const found of findings) {
    lines.push(...findingLines(found, colors, columns))
  }
  const times = rows(facts, bridge)
  if (times.length > 0) lines.push(...tableLines(timeColumns, times, columns, colors.bold), '')
  lines.push(summary(findings, colors))
  return lines
}

function findingLines(
  { severity, code, about, message, remedy }: Diagnosis['findings'][number],
  colors: Colors,
  columns: number,
): readonly string[] {
  const paint = { error: colors.red, warning: colors.yellow, info: colors.cyan }[severity]
  const indent = ' '.repeat(widestSeverity + 2)
  const width = columns - indent.length
  return [
    `${paint(severity.padEnd(widestSeverity))}  ${colors.bold(code)}${about === 'bridge' ? ' of the bridge' : ''}`,
    ...wrapped(printable(message), width).map((line) => indent + line),
    ...wrapped(`Remedy: ${printable(remedy)}`, width).map((line) => indent + colors.green(line)),
    '',
  ]
}

interface Row {
  readonly what: string
  readonly timing: Timing
}

function rows({ ping, script, wakeUp }: Diagnosis['facts'], bridge: Diagnosis['bridge']): readonly Row[] {
  const all: readonly (readonly [what: string, timing: Timing | null | undefined])[] = [
    ['round trip', ping],
    ['script', script],
    ['wake-up', wakeUp],
    ['wake-up by the bridge', bridge?.wakeUp],
  ]
  return all.flatMap(([what, timing]) => (timing ? [{ what, timing }] : []))
}

const shownMs = (ms: number): string => `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`

const timeColumns: readonly Column<Row>[] = [
  { head: 'TIME', of: ({ what }) => what },
  { head: 'MEDIAN', of: ({ timing }) => shownMs(timing.medianMs), right: true },
  { head: 'MOST', of: ({ timing }) => shownMs(timing.maxMs), right: true },
  { head: 'ROUNDS', of: ({ timing }) => String(timing.rounds), right: true },
]

function summary(findings: Diagnosis['findings'], colors: Colors): string {
  const count = (severity: string): number => findings.filter((found) => found.severity === severity).length
  const [errors, warnings] = [count('error'), count('warning')]
  if (errors + warnings === 0) return colors.green('Nothing is wrong')
  const plural = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`
  return [errors && colors.red(plural(errors, 'error')), warnings && colors.yellow(plural(warnings, 'warning'))]
    .filter(Boolean)
    .join(', ')
}
