import { InvalidOptionError } from '../errors.ts'

/** @throws InvalidOptionError naming the first option that is not in `known`, or `options` if that is not an object */
export function demandKnown(options: object | undefined, known: readonly string[]): void {
  if (options !== undefined && Object(options) !== options) throw new InvalidOptionError('options', 'must be an object')
  for (const name of Object.keys(options ?? {})) {
    if (!known.includes(name)) throw new InvalidOptionError(name, `is not known; there are ${known.join(', ')}`)
  }
}
