import { demandOption, InvalidOptionError, LeaseholdError } from '../errors.ts'
import { mostJsonBytes } from './figures.ts'

/**
 * Writes a result as JSON, for the store and for the callers of this process alike, so that all of them read the same.
 * What JSON would silently change is refused, such as a Date, which others would read as text. Zero bytes stand for
 * undefined.
 *
 * @throws InvalidOptionError for anything but plain data, or more than `mostJsonBytes` of it
 */
export function toBytes(result: unknown): Uint8Array {
  if (result === undefined) return new Uint8Array()
  const bytes = new TextEncoder().encode(jsonOf(result))
  demandOption(bytes.length <= mostJsonBytes, 'result', `at most ${mostJsonBytes} bytes of JSON, not ${bytes.length}`)
  return bytes
}

/** Reads a result. Each call makes a copy of its own. */
export const fromBytes = (bytes: Uint8Array): unknown =>
  bytes.length === 0 ? undefined : JSON.parse(new TextDecoder().decode(bytes))

function jsonOf(result: unknown): string {
  try {
    return JSON.stringify(result, plainOnly())
  } catch (error) {
    if (error instanceof LeaseholdError) throw error
    // A cycle, or a getter that throws.
    throw new InvalidOptionError('result', `cannot be written as JSON: ${(error as Error)?.message}`)
  }
}

/**
 * Makes a replacer that replaces nothing, and refuses what is not plain data, naming its path. It looks at the value
 * itself, not at what `toJSON` made of it.
 */
function plainOnly(): (this: object, name: string) => unknown {
  // If an object is in several places, this has the place that was entered last: its fields come next.
  const paths = new Map<unknown, string>()
  return function (name) {
    const value: unknown = (this as Record<string, unknown>)[name]
    const within = paths.get(this)
    const path = within === undefined ? '' : `${within}${step(name, this, within)}`
    demandOption(survives(value, this), 'result', `plain data, and ${path || 'it'} is ${describe(value)}`)
    paths.set(value, path)
    return value
  }
}

/** A step of a path, as written in code. */
function step(name: string, within: object, path: string): string {
  if (Array.isArray(within)) return `[${name}]`
  if (!/^[\w$]+$/.test(name)) return `[${JSON.stringify(name)}]`
  return path === '' ? name : `.${name}`
}

/** Whether a reader of the JSON gets the same value. */
function survives(value: unknown, within: object): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value)
    case 'undefined':
      // As a field, it is left out. In an array, it would become null.
      return !Array.isArray(within)
    case 'object':
      return value === null || Array.isArray(value) || isPlain(value)
    default:
      return false
  }
}

/** An object of another realm counts, too, although its prototype is not ours. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** A noun for a value, which shows nothing of its content. */
function describe(value: unknown): string {
  if (value === undefined || typeof value === 'number') return String(value)
  const noun = typeof value === 'object' ? value?.constructor?.name || 'object of a class' : typeof value
  return `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`
}
