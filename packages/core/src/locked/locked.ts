import { demandOption } from '../errors.ts'
import { guarded } from './guard.ts'
import type { LockedOptions } from './locked-options.ts'

/** A method that returns a promise. */
export type AsyncMethod<This> = (this: This, ...args: never[]) => Promise<unknown>

/**
 * Makes a decorator for methods that return a promise: each call acquires the lock, and releases it when it has ended,
 * as with `lockedFunction`. The arguments of `key` have the types of the method's.
 *
 * It is a standard decorator, for TypeScript 5 and later without `experimentalDecorators`.
 *
 * @example
 * ```ts
 * class Orders {
 *   constructor(readonly locks: Locker) {}
 *
 *   @locked({ locks: ({ locks }) => locks, key: (userId, productId) => `order:${userId}:${productId}`, wait: '3s' })
 *   async process(userId: string, productId: string): Promise<Receipt> {
 *     return charge(userId, productId)
 *   }
 * }
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad, or if what it decorates is not a method.
 *   The method rejects with the same errors as a function made by `lockedFunction`
 */
export function locked<This, M extends AsyncMethod<This>>(
  options: LockedOptions<This, M>,
): (method: M, context: ClassMethodDecoratorContext<This>) => M {
  return (method, context) => {
    demandOption(context?.kind === 'method', 'locked', 'a standard decorator of a method')
    return guarded<This, M>(method, options) as M
  }
}
