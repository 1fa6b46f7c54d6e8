import 'reflect-metadata'

/**
 * Copies the metadata of a method to its wrapper: what decorators below ours have written, such as a route, a cron
 * expression or guards. Decorators above ours write to the wrapper. The metadata of parameters and types is stored
 * under the class and the method's name, and needs no copy.
 */
export function carryMetadata(from: object, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, from), to)
  }
}
