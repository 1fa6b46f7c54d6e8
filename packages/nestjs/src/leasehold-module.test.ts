import type { Locker } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import {
  DistributedLock,
  InjectLocker,
  LeaseholdLocker,
  LeaseholdModule,
  type LeaseholdModuleOptions,
  lockerToken,
} from '@leasehold/nestjs'
import { follow, ManualClock, ScriptedNotifier } from '@leasehold/testkit'
import { type INestApplicationContext, Inject, Injectable, Module, type ModuleMetadata, Scope } from '@nestjs/common'
import { ContextIdFactory, NestFactory } from '@nestjs/core'
import { afterEach, describe, expect, it } from 'vitest'
import { decorate } from '../test/decorated.ts'

const apps: INestApplicationContext[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

async function start(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  class AppModule {}
  Module(metadata)(AppModule)
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false })
  apps.push(app)
  return app
}

const options = (more: Partial<LeaseholdModuleOptions> = {}): LeaseholdModuleOptions => ({
  store: memoryStore(),
  wait: 0,
  grace: 0,
  ...more,
})

class Orders {
  async process(id: string): Promise<boolean> {
    return id !== ''
  }
}
decorate(Orders, 'process', DistributedLock<Orders, Orders['process']>({ key: (id) => `order:${id}` }))
Injectable()(Orders)

describe('a module', () => {
  it('offers its locker by token, by type, and by decorator', async () => {
    class ByType {
      readonly lockers: readonly Locker[]
      constructor(...lockers: Locker[]) {
        this.lockers = lockers
      }
    }
    Inject(LeaseholdLocker)(ByType, undefined, 0)
    InjectLocker()(ByType, undefined, 1)
    Injectable()(ByType)
    const app = await start({ imports: [LeaseholdModule.forRoot(options())], providers: [ByType] })
    const [a, b] = app.get(ByType).lockers
    expect(a).toBe(app.get(lockerToken()))
    expect(b).toBe(a)
    expect(await a?.isLocked('k')).toBe(false)
  })

  it('offers it to modules that do not import it, or only to those that do', async () => {
    const feature = (): object => {
      class Feature {}
      Module({ providers: [Orders], exports: [Orders] })(Feature)
      return Feature
    }
    const app = await start({ imports: [LeaseholdModule.forRoot(options()), feature() as never] })
    expect(await app.get(Orders, { strict: false }).process('1')).toBe(true)
    const own = LeaseholdModule.forRoot({ ...options(), isGlobal: false })
    await expect(start({ imports: [own, feature() as never] })).rejects.toThrow(/leasehold:locker/)
  })

  it('stands beside others that have a name', async () => {
    class Reports {
      async make(_id: string): Promise<void> {
        return undefined
      }
      async both(): Promise<void> {
        return undefined
      }
    }
    decorate(Reports, 'make', DistributedLock<Reports, Reports['make']>({ locker: 'reports', key: (id) => id }))
    decorate(Reports, 'both', DistributedLock<Reports, Reports['both']>({ key: 'k' }))
    const app = await start({
      imports: [LeaseholdModule.forRoot(options()), LeaseholdModule.forRoot({ ...options(), as: 'reports' })],
      providers: [Reports],
    })
    const [plain, named] = [app.get<Locker>(lockerToken()), app.get<Locker>(lockerToken('reports'))]
    expect(plain).not.toBe(named)
    await plain.acquire('k')
    await app.get(Reports).make('k')
    await expect(app.get(Reports).both()).rejects.toMatchObject({ status: 409 })
    await named.acquire('k')
    await expect(app.get(Reports).make('k')).rejects.toMatchObject({ status: 409 })
  })

  it.each([
    ['useFactory', { useFactory: (given: LeaseholdModuleOptions) => given, inject: ['given'] }],
    ['useClass', { useClass: optionsClass() }],
    ['useExisting', { useExisting: 'existing' }],
  ])('is made from other providers by %s', async (_, how) => {
    class Config {}
    const existing = { createLeaseholdOptions: () => options() }
    const providers = [
      { provide: 'given', useFactory: () => options() },
      { provide: 'existing', useFactory: () => existing },
    ]
    Module({ providers, exports: ['given', 'existing'] })(Config)
    const app = await start({
      imports: [LeaseholdModule.forRootAsync({ imports: [Config], ...how } as never)],
      providers: [Orders],
    })
    await app.get(LeaseholdLocker).acquire('order:1')
    expect(await app.get(Orders).process('2')).toBe(true)
    await expect(app.get(Orders).process('1')).rejects.toMatchObject({ status: 409 })
  })

  it('with a bad option fails the start, by name', async () => {
    const bad = LeaseholdModule.forRoot(options({ ttl: -1 }))
    await expect(start({ imports: [bad] })).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'ttl' })
  })
})

describe('a module without what it needs says so', () => {
  const mistake = (message: string) => expect.objectContaining({ code: 'INVALID_OPTION', message })
  const { forRoot, forRootAsync } = LeaseholdModule as unknown as Record<string, (options?: unknown) => never>

  it('at once, if it is given nothing', () => {
    expect(() => forRoot?.()).toThrow(
      mistake('Option "options" must be what createLocker takes, such as { ...ioredisBackend(redis) }'),
    )
    for (const given of [undefined, {}, { useFactory: options() }]) {
      expect(() => forRootAsync?.(given)).toThrow(
        mistake('Option "options" must be an object with useFactory, useClass or useExisting'),
      )
    }
  })

  it.each([
    ['useFactory', () => undefined, 'returned by the factory of LeaseholdModule'],
    ['useClass', class {}, 'made by a class that has createLeaseholdOptions()'],
  ])('when it starts, if its %s makes nothing of use', async (how, factory, words) => {
    const starting = start({ imports: [forRootAsync?.({ [how]: factory }) as never] })
    await expect(starting).rejects.toMatchObject({ option: 'options', message: expect.stringContaining(words) })
  })
})

describe('the locker of a guarded method', () => {
  it('is that of the application that made the instance', async () => {
    const [a, b] = await Promise.all(
      [1, 2].map(() => start({ imports: [LeaseholdModule.forRoot(options())], providers: [Orders] })),
    )
    await a?.get(LeaseholdLocker).acquire('order:1')
    await expect(a?.get(Orders).process('1')).rejects.toMatchObject({ status: 409 })
    expect(await b?.get(Orders).process('1')).toBe(true)
  })

  it('is there in each instance of a request', async () => {
    class PerRequest extends Orders {}
    Injectable({ scope: Scope.REQUEST })(PerRequest)
    const app = await start({ imports: [LeaseholdModule.forRoot(options())], providers: [PerRequest] })
    const [first, second] = await Promise.all(
      [1, 2].map(() => app.resolve(PerRequest, ContextIdFactory.create(), { strict: false })),
    )
    expect(first).not.toBe(second)
    await app.get(LeaseholdLocker).acquire('order:1')
    for (const each of [first, second]) {
      await expect(each?.process('1')).rejects.toMatchObject({ status: 409 })
      expect(await each?.process('2')).toBe(true)
    }
  })

  it('is there in a class that inherits, for the methods of both', async () => {
    class Extended extends Orders {
      declare readonly token: string
      async cancel(_id: string): Promise<string> {
        return 'cancelled'
      }
    }
    decorate(Extended, 'cancel', DistributedLock<Extended, Extended['cancel']>({ key: (id) => `order:${id}` }))
    Inject('token')(Extended.prototype, 'token')
    const token = { provide: 'token', useValue: 'x' }
    const app = await start({ imports: [LeaseholdModule.forRoot(options())], providers: [Extended, Orders, token] })
    const extended = app.get(Extended)
    expect([await extended.process('1'), await extended.cancel('1'), extended.token]).toEqual([true, 'cancelled', 'x'])
    await app.get(LeaseholdLocker).acquire('order:1')
    for (const call of [extended.process('1'), extended.cancel('1'), app.get(Orders).process('1')]) {
      await expect(call).rejects.toMatchObject({ status: 409 })
    }
  })
})

describe('in a test', () => {
  it('the embedded store and its notifier are enough', async () => {
    const store = memoryStore()
    const embedded = LeaseholdModule.forRoot({ store, notifier: memoryNotifier(store), grace: 0 })
    const app = await start({ imports: [embedded], providers: [Orders] })
    const lease = await app.get(LeaseholdLocker).acquire('order:1')
    const waiting = app.get(Orders).process('1')
    await lease.release()
    expect(await waiting).toBe(true)
  })
})

describe('an application', () => {
  it('subscribes when it starts, not before, and unsubscribes and closes when it ends', async () => {
    const notifier = new ScriptedNotifier()
    const told: string[] = []
    const onClosed = (): number => told.push('closed')
    const module = LeaseholdModule.forRoot(options({ notifier, grace: '10s', onClosed }))
    expect(notifier.subscriptions).toHaveLength(0)
    const app = await start({ imports: [module], providers: [Orders] })
    expect(notifier.subscriptions.map(({ closed }) => closed)).toEqual([false])
    const lease = await app.get(LeaseholdLocker).acquire('k')
    const closing = app.close().then(() => told.push('ended'))
    await expect.poll(() => notifier.subscriptions[0]?.closed).toBe(true)
    await expect(app.get(LeaseholdLocker).acquire('other')).rejects.toMatchObject({ code: 'CLOSED' })
    expect(told).toEqual([])
    await lease.release()
    await closing
    expect([notifier.subscriptions.map(({ closed }) => closed), told]).toEqual([[true], ['closed', 'ended']])
  })

  it('starts although its notifier never gets ready', async () => {
    const clock = new ManualClock()
    const notifier = new ScriptedNotifier({ confirms: false })
    const starting = follow(start({ imports: [LeaseholdModule.forRoot(options({ notifier, clock }))] }), clock)
    await expect.poll(() => notifier.subscriptions.length).toBe(1)
    await clock.advance(1_999)
    expect(starting.state).toBe('pending')
    await clock.advance(1)
    await expect.poll(() => starting.state).toBe('fulfilled')
  })
})

function optionsClass() {
  class Options {
    createLeaseholdOptions(): LeaseholdModuleOptions {
      return options()
    }
  }
  Injectable()(Options)
  return Options
}
