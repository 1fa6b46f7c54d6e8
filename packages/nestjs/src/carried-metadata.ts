import 'reflect-metadata'

/**
 * Gives a wrapper the metadata of the method that it stands for: what decorators below ours have written, such as a route, a cron
 * expression or guards. Those above ours write to the wrapper. Parameters and types are noted by the class and the method's name,
 * and stay where they are.
 */
export function carryMetadata(from: object, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, from), to)
  }
}
