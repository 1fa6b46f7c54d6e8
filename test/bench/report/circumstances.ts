import type { Measured } from '../rounds.ts'

/** The number of rounds, and which of them had a turn disturbed by others: a noisy machine is reported. */
export function circumstances(measured: readonly Measured[]): string {
  const rounds = Map.groupBy(measured, ({ round }) => round)
  const noisy = [...rounds].flatMap(([round, of]) => {
    const worst = Math.max(...of.map(({ slowdown }) => slowdown))
    return of.some((sample) => sample.noisy) ? [`round ${round} (${worst.toFixed(1)} × as slow)`] : []
  })
  const loads = measured.map(({ load }) => load)
  const stolen = Math.max(...measured.map((sample) => sample.stolen))
  return [
    `${rounds.size} ${rounds.size === 1 ? 'round' : 'rounds'}`,
    noisy.length === 0 ? 'none noisy' : `NOISY MACHINE in ${noisy.join(', ')}`,
    `load average ${Math.min(...loads).toFixed(1)}–${Math.max(...loads).toFixed(1)}`,
    ...(stolen > 0.01 ? [`${(stolen * 100).toFixed(0)} % stolen`] : []),
  ].join(', ')
}
