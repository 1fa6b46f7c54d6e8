import { demandOption } from '../errors.ts'

/** A length of time: milliseconds, or a number with its unit, such as `'250ms'`, `'5s'`, `'2m'` or `'1h'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h'}`

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/**
 * Converts a duration to whole milliseconds, rounded up. It suits configuration, too: the error for a bad value from
 * the environment names the variable rather than an option.
 *
 * @example
 * ```ts
 * const ttl = parseDuration('LOCK_TTL', process.env.LOCK_TTL ?? '30s')
 * ```
 *
 * @param option the name to give in an error
 * @param value  milliseconds, or a number with its unit and nothing between, such as `'250ms'`, `'5s'`, `'2m'` or `'1h'`
 * @throws InvalidOptionError naming `option` for anything that is not a finite duration of at least `leastMs`
 *   (default 1) and less than 2^53 ms.
 */
export function parseDuration(option: string, value: unknown, leastMs = 1): number {
  const match = typeof value === 'string' && /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value)
  const givenMs = match ? Number(match[1]) * (unitMs[match[2] as string] as number) : value
  const ms = typeof givenMs === 'number' && givenMs >= 0 ? Math.ceil(givenMs) : NaN
  demandOption(ms >= leastMs && ms < 2 ** 53, option, `a duration from ${leastMs} to 2^53 ms, such as "5m"`, value)
  return ms
}
