import { createLocker } from '@leasehold/core'
import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import type { PubsubNotifierOptions, RedisBackend, RedisBackendOptions, RedisStoreOptions } from '@leasehold/core/redis'
import { ManualClock } from '@leasehold/testkit'
import type { RedisServer } from '@leasehold/testkit/redis'
import { expect, it } from 'vitest'

/** A client library that keeps connections, and what its adapter makes from a client. */
export interface BackendParts<Client> {
  server(): RedisServer
  /** A client of that server, connected or connecting by the time it is used. */
  client(): Client
  backend(client: Client, options?: RedisBackendOptions): RedisBackend
  store(client: Client, options?: RedisStoreOptions): LeaseStore
  notifier(client: Client, options?: PubsubNotifierOptions): ReleaseNotifier
}

const refused = (option: string): unknown => expect.objectContaining({ code: 'INVALID_OPTION', option })

/** What the backend of each such adapter guarantees. */
export function backendClaims<Client>({ server, client, backend, store, notifier }: BackendParts<Client>): void {
  it('gives a locker its store and notifier under one prefix, and a name that whoever reads the lock sees', async () => {
    const locks = createLocker({ ...backend(client(), { prefix: 'shop:' }), recheck: '1h' })
    const held = await locks.acquire('k')
    expect(await locks.inspect('k')).toMatchObject({ holder: expect.stringMatching(`-${process.pid}$`) })
    expect(await server().command('GET', 'shop:k')).toContain(`-${process.pid}.`)
    const other = createLocker({ ...backend(client(), { prefix: 'shop:', name: 'orders-7' }), recheck: '1h' })
    // Only the notifier can wake it within its wait.
    const next = other.acquire('k', { wait: '20s' })
    await expect.poll(() => server().command('PUBSUB', 'NUMSUB', 'shop:release:k')).toEqual(['shop:release:k', 1])
    await held.release()
    await next
    expect(await locks.inspect('k')).toMatchObject({ holder: 'orders-7' })
    await Promise.all([locks.close({ grace: 0 }), other.close({ grace: 0 })])
  })

  it('hands each option to its part', async () => {
    const made = backend(client(), { prefix: 'p:', fenceMemory: '1m', mode: 'pattern' })
    expect([made.store.prefix, made.notifier.prefix]).toEqual(['p:', 'p:'])
    await made.notifier.subscribe('k', '-').ready
    expect(await server().command('PUBSUB', 'NUMPAT')).toBe(1)
    await made.notifier.close()
    const locks = createLocker({ store: made.store })
    await (await locks.acquire('k', { ttl: '1s' })).release()
    const memoryMs = Number(await server().command('PTTL', '{p:k}:fence'))
    expect(memoryMs).toBeGreaterThan(50_000)
    expect(memoryMs).toBeLessThanOrEqual(60_000)
  })

  it('takes undefined for every option, as if it were left out', () => {
    const options = { prefix: undefined, fenceMemory: undefined, mode: undefined, name: undefined, clock: undefined }
    const made = backend(client(), options)
    expect([made.store.prefix, made.notifier.prefix]).toEqual(['lock:', 'lock:'])
    expect(made.name).toBe(backend(client()).name)
    store(client(), { prefix: undefined, fenceMemory: undefined })
    notifier(client(), { prefix: undefined, mode: undefined, clock: undefined })
    notifier(client(), { clock: new ManualClock() })
  })

  it.each([
    ['prefix', ''],
    ['prefix', '{lock}:'],
    ['fenceMemory', 'soon'],
    ['mode', 'patern'],
    ['keyPrefix', 'lock:'],
  ])('refuses the option %s: %j by name', (option, value) => {
    expect(() => backend(client(), { [option]: value } as never)).toThrow(refused(option))
  })

  it('refuses options that its parts do not have, on these, too, and what is no client', () => {
    expect(() => store(client(), { mode: 'pattern' } as never)).toThrow(refused('mode'))
    expect(() => notifier(client(), { fenceMemory: '1h' } as never)).toThrow(refused('fenceMemory'))
    expect(() => notifier(client(), { mode: 'patern' } as never)).toThrow(refused('mode'))
    expect(() => backend(client(), 'lock:' as never)).toThrow(refused('options'))
    expect(() => notifier({} as never)).toThrow(refused('client'))
  })
}
