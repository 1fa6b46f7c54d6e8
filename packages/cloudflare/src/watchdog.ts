import { type Duration, parseDuration, type Watchdog } from '@leasehold/core'
import {
  type DelegatedLease,
  type DelegatedValidity,
  delegatedRenewal,
  demandObject,
  demandOption,
  refuseUnknown,
  type WatchdogLink,
} from '@leasehold/core/adapter'
import { defaultMinTtl } from './figures.ts'
import { defaultName } from './shards.ts'

/** The used part of a Durable Object's binding; Cloudflare's `DurableObjectNamespace` fits. */
export interface WatchdogNamespace {
  getByName(name: string, options?: { locationHint?: string }): object
}

export interface WatchdogOptions {
  /** The name of the object that renews all leases; default `leasehold-watchdog`. */
  readonly name?: string | undefined
  /** Returns the name of the object that renews the lease of a key, in place of `name`, such as `shards(8)`. */
  readonly nameOf?: ((key: string) => string) | undefined
  /** Where the object should be created, such as `weur`; best near Redis. It has an effect only when the object is created. */
  readonly locationHint?: string | undefined
  /** The shortest ttl of a lease that it renews; default 2 minutes, because alarms can be a minute late. Only tests lower it. */
  readonly minTtl?: Duration | undefined
}

/**
 * Lets a Durable Object renew a lease, for the option `renew`. Renewals count as the object's requests to the store,
 * not the Worker's: the Worker delegates a lease with one call, and its questions go over the link that it gets back.
 * The object must be exported and bound: see `leaseWatchdog`.
 *
 * It keeps no state and sends nothing until a lease has been held for a second, so you may create it at module scope.
 *
 * @example
 * ```ts
 * await using lease = await locks.acquire('import:7', { ttl: '2m', renew: watchdog(env.WATCHDOG) })
 * ```
 *
 * @throws InvalidOptionError for a missing binding or a bad option
 */
export function watchdog(namespace: WatchdogNamespace, options: WatchdogOptions = {}): Watchdog {
  demandObject(options)
  const { name = defaultName, nameOf = () => name, locationHint, minTtl = defaultMinTtl, ...rest } = options
  refuseUnknown(rest)
  const isBinding = typeof namespace?.getByName === 'function'
  demandOption(isBinding, 'namespace', 'the binding of a Durable Object; does this Worker have it?', namespace)
  demandOption(typeof nameOf === 'function', 'nameOf', 'a function', nameOf)
  const hint = locationHint === undefined ? [] : [{ locationHint }]
  return delegatedRenewal({
    minTtlMs: parseDuration('minTtl', minTtl),
    async adopt(lease) {
      const object = namespace.getByName(nameOf(lease.key), ...hint) as ObjectStub
      return linked(await object.adopt(lease))
    },
  })
}

/**
 * The object as its stub shows it: the platform makes methods asynchronous, and likewise those of the values they
 * return.
 */
interface ObjectStub {
  adopt(lease: DelegatedLease): PromiseLike<Adoption>
}

interface Adoption extends Disposable {
  readonly link: LinkStub
  readonly news: { lost(): PromiseLike<Awaited<WatchdogLink['lost']>> }
}

interface LinkStub {
  remaining(): PromiseLike<DelegatedValidity>
  end(): PromiseLike<void>
}

const linked = (adoption: Adoption): WatchdogLink => ({
  remaining: async () => adoption.link.remaining(),
  // Pending while the lease is renewed; rejects when the object has gone.
  lost: Promise.resolve(adoption.news.lost()),
  async end() {
    await adoption.link.end()
    adoption[Symbol.dispose]()
  },
})
