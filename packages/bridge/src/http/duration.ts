import { type Duration, InvalidOptionError } from '@leasehold/core'

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

/** A duration in milliseconds, more than none. @throws InvalidOptionError naming the option. */
export function durationMs(option: string, duration: Duration): number {
  const [, digits, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(String(duration)) ?? []
  const ms = Number(digits ?? Number.NaN) * unitMs[unit as keyof typeof unitMs]
  if (ms > 0 && ms < 2 ** 53) return ms
  throw new InvalidOptionError(option, 'must be a duration, such as 900000 or "15m"')
}
