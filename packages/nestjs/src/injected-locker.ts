import type { Locker } from '@leasehold/core'
import { InvalidOptionError } from '@leasehold/core'
import { InjectLocker } from './locker-token.ts'

/**
 * The prototypes that have asked for a locker, with its names: one property for each name is enough for all methods of
 * a class.
 */
const asked = new WeakMap<object, Set<string | undefined>>()

/** The key of the instance property in which Nest puts a locker. */
const property = (as: string | undefined): symbol => Symbol.for(`leasehold.nestjs.locker:${as ?? ''}`)

/** Has Nest inject a locker into each instance of a class, whatever its scope, and of classes that inherit from it. */
export function injectLocker(prototype: object, as: string | undefined): void {
  const names = asked.get(prototype) ?? new Set()
  asked.set(prototype, names)
  if (names.has(as)) return
  names.add(as)
  InjectLocker(as)(prototype, property(as))
}

/** @throws InvalidOptionError if Nest did not create the instance */
export function injectedLocker(self: object, as: string | undefined): Locker {
  const locks = (self as Record<symbol, Locker | undefined>)[property(as)]
  if (locks) return locks
  const name = (self as object | undefined)?.constructor?.name ?? 'The class'
  throw new InvalidOptionError('locks', `is needed: ${name} was not made by Nest, which would have injected a locker`)
}
