import { Inject } from '@nestjs/common'

/**
 * The token of a locker, for `inject: [lockerToken()]` and `module.get(lockerToken())`.
 *
 * @param as the name of the locker, as given to the module; default: the one without a name
 */
export const lockerToken = (as?: string): string => (as === undefined ? 'leasehold:locker' : `leasehold:locker:${as}`)

/**
 * Injects a locker of `LeaseholdModule` into a constructor or a property.
 *
 * @example
 * ```ts
 * class Reports {
 *   constructor(@InjectLocker() private readonly locks: Locker, @InjectLocker('reports') private readonly own: Locker) {}
 * }
 * ```
 *
 * @param as the name of the locker, as given to the module; default: the one without a name
 */
export const InjectLocker = (as?: string): ParameterDecorator & PropertyDecorator => Inject(lockerToken(as))
