/** The value below which `share` of the values lie (nearest rank); NaN if there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = low] = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
  return (low + high) / 2
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/**
 * The exponent e of `y ~ x^e` through the points, by least squares over their logarithms: 0 if y does not grow with x.
 */
export function exponent(points: readonly (readonly [x: number, y: number])[]): number {
  const xs = points.map(([x]) => Math.log(x))
  const ys = points.map(([, y]) => Math.log(y))
  const [meanX, meanY] = [sum(xs) / xs.length, sum(ys) / ys.length]
  const slope = sum(xs.map((x, index) => (x - meanX) * ((ys[index] as number) - meanY)))
  return slope / sum(xs.map((x) => (x - meanX) ** 2))
}
