import { createLocker, type Locker } from '@leasehold/core'
import { demandOption } from '@leasehold/core/adapter'
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
 * Provides a locker to an application. It is created with the application, subscribes when the module is initialized,
 * and closes when the module is destroyed: with `app.enableShutdownHooks()`, a SIGTERM does that. Importing the module
 * does nothing.
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
   * @throws InvalidOptionError if there are no options; when the application starts, naming the first option that is
   *   unknown or bad
   */
  static forRoot(options: LeaseholdModuleOptions & LeaseholdModuleSetting): DynamicModule {
    demandOption(isObject(options), 'options', `what createLocker takes${example}`)
    const { as, isGlobal, ...rest } = options
    // From a function: Nest 10 serializes every value that a module provides, to tell modules apart, and a client is
    // large.
    return moduleOf({ as, isGlobal }, [{ provide: optionsToken(as), useFactory: () => rest }])
  }

  /**
   * Makes the module from options that need other providers.
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
   * @throws InvalidOptionError without a factory; when the application starts, naming the first option that is unknown or bad
   */
  static forRootAsync(options: LeaseholdModuleAsyncOptions): DynamicModule {
    const { useFactory, useClass, useExisting } = Object(options)
    const isFactory = typeof useFactory === 'function' || typeof useClass === 'function' || useExisting !== undefined
    demandOption(isFactory, 'options', 'an object with useFactory, useClass or useExisting')
    return { ...moduleOf(options, optionProviders(options)), imports: options.imports ?? [] }
  }
}
Module({})(LeaseholdModule)

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const example = ', such as { ...ioredisBackend(redis) }'

const optionsToken = (as?: string): string => `${lockerToken(as)}:options`

function moduleOf({ as, isGlobal = true }: LeaseholdModuleSetting, options: Provider[]): DynamicModule {
  const token = lockerToken(as)
  const locker: Provider[] = [
    {
      provide: token,
      useFactory: madeBy,
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

/** @throws InvalidOptionError if a factory has not returned options, or one of them is bad */
function madeBy(options: LeaseholdModuleOptions): Locker {
  demandOption(isObject(options), 'options', `returned by the factory of LeaseholdModule${example}`)
  const { grace: _, onClosed: __, ...rest } = options
  return createLocker(rest)
}

function optionProviders(options: LeaseholdModuleAsyncOptions): Provider[] {
  const token = optionsToken(options.as)
  if ('useFactory' in options) {
    return [{ provide: token, useFactory: options.useFactory, inject: options.inject ?? [] }]
  }
  const factory = 'useClass' in options ? `${token}:factory` : options.useExisting
  const made: Provider[] = 'useClass' in options ? [{ provide: factory, useClass: options.useClass }] : []
  const useFactory = (by: LeaseholdOptionsFactory) => {
    const isFactory = typeof Object(by).createLeaseholdOptions === 'function'
    demandOption(isFactory, 'options', 'made by a class that has createLeaseholdOptions()')
    return by.createLeaseholdOptions()
  }
  return [...made, { provide: token, useFactory, inject: [factory] }]
}
