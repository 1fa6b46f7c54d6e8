import type { Finding } from './checks.ts'
import { paint } from './paint.ts'

/** How many violations of a claim are listed. */
const mostShown = 5

/** One line for each claim, its violations, and the verdict. */
export function summaryOf(findings: readonly Finding[], tookMs: number): string {
  const width = Math.max(...findings.map(({ claim }) => claim.length))
  const lines = findings.flatMap(({ claim, extent, violations }) => {
    const verdict = violations.length === 0 ? paint('green', 'ok  ') : paint('red', 'FAIL')
    const shown = violations.slice(0, mostShown).map((violation) => `          ${violation}`)
    if (violations.length > mostShown) shown.push(`          and ${violations.length - mostShown} more`)
    return [`  ${verdict}  ${claim.padEnd(width)}  ${extent}`, ...shown]
  })
  const broken = findings.filter(({ violations }) => violations.length > 0).length
  const verdict =
    broken === 0
      ? paint('green', `All ${findings.length} claims hold`)
      : paint('red', `${broken} of ${findings.length} claims do not hold`)
  return [...lines, '', `${verdict} (${(tookMs / 1_000).toFixed(1)} s)`].join('\n')
}
