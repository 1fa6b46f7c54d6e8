import { InvalidOptionError } from '../errors.ts'

/** Whether a value can be a fence: it must survive JSON, Lua and SQL without rounding. */
export const isFence = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

/** @throws InvalidOptionError for anything that is not a positive safe integer */
export function checkFence(fence: unknown): asserts fence is number {
  if (!isFence(fence)) throw new InvalidOptionError('fence', 'must be a positive safe integer, such as lease.fence')
}
