import { createLocker, type Locker } from '@leasehold/core'
import { type DynamicModule, Module, type Provider } from '@nestjs/common'
import { LeaseholdLocker } from './leasehold-locker.ts'
import { LockerLifecycle } from './locker-lifecycle.ts'
import { lockerToken } from './locker-token.ts'
import type {
  LeaseholdModuleAsyncOptions,
  LeaseholdModuleOptions,
  LeaseholdModuleSetting,
  LeaseholdOptionsFactory,
} from './module-options.ts'

/**
 * Offers a locker to the providers of an application. It is made with the application, subscribes when the module is initialised,
 * and closes when the module is destroyed: `app.enableShutdownHooks()` lets a SIGTERM do that. To import this does nothing.
 */
// biome-ignore lint/complexity/noStaticOnlyClass: as everywhere in Nest, a module is a class
export class LeaseholdModule {
  /**
   * Makes the module from options that are known at once.
   *
   * @example
   * ```ts
   * LeaseholdModule.forRoot({ ...ioredisBackend(redis), grace: '10s', onClosed: () => redis.disconnect() })
   * ```
   *
   * @throws InvalidOptionError when the application starts, naming the first option that is unknown or bad
   */
  static forRoot(options: LeaseholdModuleOptions & LeaseholdModuleSetting): DynamicModule {
    const { as, isGlobal, ...rest } = options
    // From a function: Nest 10 makes text of every value that a module provides, to tell modules apart, and a client is large.
    return moduleOf({ as, isGlobal }, [{ provide: optionsToken(as), useFactory: () => rest }])
  }

  /**
   * Makes the module from options that other providers are needed for.
   *
   * @example
   * ```ts
   * LeaseholdModule.forRootAsync({
   *   imports: [ConfigModule],
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ioredisBackend(new Redis(config.getOrThrow('REDIS_URL'))),
   * })
   * ```
   *
   * @throws InvalidOptionError when the application starts, naming the first option that is unknown or bad
   */
  static forRootAsync(options: LeaseholdModuleAsyncOptions): DynamicModule {
    return { ...moduleOf(options, optionProviders(options)), imports: options.imports ?? [] }
  }
}
Module({})(LeaseholdModule)

const optionsToken = (as?: string): string => `${lockerToken(as)}:options`

function moduleOf({ as, isGlobal = true }: LeaseholdModuleSetting, options: Provider[]): DynamicModule {
  const token = lockerToken(as)
  const locker: Provider[] = [
    {
      provide: token,
      useFactory: ({ grace: _, onClosed: __, ...rest }: LeaseholdModuleOptions) => createLocker(rest),
      inject: [optionsToken(as)],
    },
    {
      provide: `${token}:lifecycle`,
      useFactory: (locks: Locker, given: LeaseholdModuleOptions) => new LockerLifecycle(locks, given),
      inject: [token, optionsToken(as)],
    },
  ]
  const byType: Provider[] = as === undefined ? [{ provide: LeaseholdLocker, useExisting: token }] : []
  return {
    module: LeaseholdModule,
    global: isGlobal,
    providers: [...options, ...locker, ...byType],
    exports: [token, ...(as === undefined ? [LeaseholdLocker] : [])],
  }
}

function optionProviders(options: LeaseholdModuleAsyncOptions): Provider[] {
  const token = optionsToken(options.as)
  if ('useFactory' in options) {
    return [{ provide: token, useFactory: options.useFactory, inject: options.inject ?? [] }]
  }
  const factory = 'useClass' in options ? `${token}:factory` : options.useExisting
  const made: Provider[] = 'useClass' in options ? [{ provide: factory, useClass: options.useClass }] : []
  const useFactory = (by: LeaseholdOptionsFactory) => by.createLeaseholdOptions()
  return [...made, { provide: token, useFactory, inject: [factory] }]
}
