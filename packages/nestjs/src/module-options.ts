import type { Duration, LockerOptions } from '@leasehold/core'
import type { DynamicModule, InjectionToken, OptionalFactoryDependency, Type } from '@nestjs/common'

/** The options of the locker, and of its shutdown. */
export interface LeaseholdModuleOptions extends LockerOptions {
  /** How long running work may continue when the application closes, before its leases are released; default 5 s. */
  readonly grace?: Duration | undefined
  /** Called once the locker has closed: the place to close its client. The application waits for it. */
  readonly onClosed?: (() => unknown) | undefined
}

/** How the module provides its locker. */
export interface LeaseholdModuleSetting {
  /**
   * The locker's name for `@InjectLocker(as)` and `locker: as`. In an application with several, all but one need a
   * name.
   */
  readonly as?: string | undefined
  /** Whether all modules may inject the locker, or only those that import this one; default true. */
  readonly isGlobal?: boolean | undefined
}

/** Makes the options of a module, as a class. */
export interface LeaseholdOptionsFactory {
  createLeaseholdOptions(): LeaseholdModuleOptions | Promise<LeaseholdModuleOptions>
}

/**
 * How the options of a module are made: by a function, or by a class that is instantiated for this or exists already.
 */
export type LeaseholdModuleAsyncOptions = LeaseholdModuleSetting & {
  /** Modules whose providers are injected. */
  readonly imports?: DynamicModule['imports']
} & (
    | {
        // biome-ignore lint/suspicious/noExplicitAny: as everywhere in Nest, what is injected is known to its user alone
        readonly useFactory: (...injected: any[]) => LeaseholdModuleOptions | Promise<LeaseholdModuleOptions>
        readonly inject?: (InjectionToken | OptionalFactoryDependency)[]
      }
    | { readonly useClass: Type<LeaseholdOptionsFactory> }
    | { readonly useExisting: InjectionToken }
  )
