import { InvalidOptionError } from '@leasehold/core'

/**
 * Rewrites the error of a bad option, with the guarded method and the value that was given.
 *
 * @param method the guarded method, with its class
 */
export function namedMistake(cause: InvalidOptionError, method: string, given: object): InvalidOptionError {
  const { option, message } = cause
  const problem = message.replace(`Option "${option}" `, '')
  const value = shown((given as Record<string, unknown>)[option])
  const error = new InvalidOptionError(option, `of @DistributedLock at ${method} ${problem}; it is ${value}`)
  return Object.assign(error, { cause })
}

/** The longest text that is shown. */
const longest = 100

function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return typeof value === 'string' ? JSON.stringify(value.slice(0, longest)) : String(value)
}
