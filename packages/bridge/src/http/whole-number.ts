import { InvalidOptionError } from '@leasehold/core'

/** The longest delay that a timer accepts, in milliseconds. */
const largestNumber = 2 ** 31 - 1

/** @throws InvalidOptionError naming the option. */
export function wholeNumber(
  option: string,
  value: number | undefined,
  standard: number,
  least: number = 1,
  most: number = largestNumber,
): number {
  const number = value ?? standard
  if (Number.isInteger(number) && number >= least && number <= most) return number
  throw new InvalidOptionError(option, `must be a whole number from ${least} to ${most}`)
}
