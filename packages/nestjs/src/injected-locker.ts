import type { Locker } from '@leasehold/core'
import { InvalidOptionError } from '@leasehold/core'
import { InjectLocker } from './locker-token.ts'

/** The classes that have asked for a locker, by its name: one property is enough for all methods of a class. */
const asked = new WeakMap<object, Set<string | undefined>>()

/** The property of an instance in which Nest puts a locker. */
const property = (as: string | undefined): symbol => Symbol.for(`leasehold.nestjs.locker:${as ?? ''}`)

/** Lets Nest give each instance of a class a locker, whatever its scope and whoever inherits from it. */
export function injectLocker(prototype: object, as: string | undefined): void {
  const names = asked.get(prototype) ?? new Set()
  asked.set(prototype, names)
  if (names.has(as)) return
  names.add(as)
  InjectLocker(as)(prototype, property(as))
}

/** @throws InvalidOptionError if Nest has not made the instance */
export function injectedLocker(self: object, as: string | undefined): Locker {
  const locks = (self as Record<symbol, Locker | undefined>)[property(as)]
  if (locks) return locks
  const name = (self as object | undefined)?.constructor?.name ?? 'The class'
  throw new InvalidOptionError('locks', `is needed: ${name} was not made by Nest, which would have injected a locker`)
}
