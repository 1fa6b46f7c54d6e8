const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** A time in readable form: `850 ms`, `4.2 s`, `3m 12s`, `2h 5m`, `3d 4h`. */
export function shownTime(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1_000) return `${whole} ms`
  if (whole < 9_950) return `${(whole / 1_000).toFixed(1)} s`
  const at = units.findIndex(([, size]) => whole >= size)
  const [unit, size] = units[at] as (typeof units)[number]
  const next = units[at + 1]
  const rest = next && Math.floor((whole % size) / next[1])
  const first = `${Math.floor(whole / size)}${unit}`
  return rest ? `${first} ${rest}${next[0]}` : first
}
