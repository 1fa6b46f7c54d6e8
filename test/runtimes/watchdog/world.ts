import { type ObjectState, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { type WatchdogSettings, type WatchdogStatus, watchdog } from '@leasehold/cloudflare'
import {
  type Clock,
  createLocker,
  type Duration,
  type Lease,
  type Locker,
  type LockerOptions,
  type LossReason,
  parseDuration,
  systemClock,
} from '@leasehold/core'
import type { DelegatedLease, DelegatedValidity, LeaseStore } from '@leasehold/core/adapter'
import { callUntil, ManualClock, ScriptedStore } from '@leasehold/testkit'

export interface World {
  /** The settings of the current test's objects. */
  settings: WatchdogSettings
  /** Called with the state of an object before it is made. */
  beforeStart?: ((state: ObjectState) => void) | undefined
}

export const world: World = { settings: {} as WatchdogSettings }

export interface WatchdogStub {
  status(): Promise<WatchdogStatus>
  adopt(lease: DelegatedLease): Promise<AdoptionStub>
}

export interface AdoptionStub extends Disposable {
  readonly link: LinkStub
  readonly news: { lost(): Promise<LossReason | undefined> }
}

export interface LinkStub {
  remaining(): Promise<DelegatedValidity>
  end(): Promise<void>
}

/** A lease that the object renews for a holder that asks it nothing. */
export interface Adopted {
  readonly lease: Lease
  readonly adoption: AdoptionStub
  readonly link: LinkStub
  /** Why the lease was lost; `held` while it is not. */
  lost(): Promise<LossReason | 'held' | undefined>
  /** Adopts the lease once more. By default nobody has extended it since. */
  again(expiresInMs?: number): Promise<AdoptionStub>
}

/** A clock that the test advances, a store on that clock, and an object whose alarms the test delivers. */
export interface Driven {
  readonly clock: ManualClock
  readonly store: ScriptedStore
  readonly object: WatchdogStub
  /** The object, for use with Cloudflare's plugin. */
  stub(): object
  /** A Worker's locker, whose leases the object renews. */
  readonly locks: Locker
  /** Somebody else's locker. */
  readonly others: Locker
  /** Lets time pass, and delivers each alarm `lateMs` late and `times` times. Returns how many alarms there were. */
  pass(
    ms: number,
    options?: { readonly lateMs?: number; readonly times?: number; readonly stepMs?: number },
  ): Promise<number>
  /** Delivers an alarm now, whether or not it is due, like a platform that delivers twice. */
  deliver(times?: number): Promise<void>
  alarmAtMs(): Promise<number | null>
  /** Takes a lock and has the object renew it. */
  adopt(key: string, options: { readonly ttl: Duration; readonly holdForMs?: number }): Promise<Adopted>
  /** Has many leases renewed, which are taken in `batches` over a third of their ttl. Returns their tokens by key. */
  adoptAll(count: number, batches: number, ttl: Duration, from?: LeaseStore): Promise<ReadonlyMap<string, string>>
}

let made = 0

export function driven(options: Omit<LockerOptions, 'store'> & Partial<WatchdogSettings> = {}): Driven {
  const { grace = '15s', minTtl = '1s', mostLeases, ...defaults } = options
  // A day ahead, so that the platform delivers no alarm by itself.
  const clock = new ManualClock(Date.now() + 86_400_000)
  const store = new ScriptedStore(clock)
  world.settings = { store, clock: seenFrom(clock), grace, minTtl, mostLeases }
  const name = `driven-${made++}`
  // A new one each time: a stub whose object was replaced stays broken.
  const stub = (): WatchdogStub & object => env.WATCHDOG.getByName(name) as WatchdogStub & object
  const object: WatchdogStub = { status: () => stub().status(), adopt: (lease) => stub().adopt(lease) }
  const alarmAtMs = (): Promise<number | null> => runInDurableObject(stub(), (_, { storage }) => storage.getAlarm())
  const deliver = async (times = 1): Promise<void> => {
    if (!(await runDurableObjectAlarm(stub()))) throw new Error('There was no alarm')
    for (let again = 1; again < times; again++) {
      await runInDurableObject(stub(), (it) => (it as unknown as { alarm(): Promise<void> }).alarm())
    }
  }
  const pass: Driven['pass'] = async (ms, { lateMs = 0, times = 1, stepMs = 500 } = {}) => {
    const endMs = clock.wallMs() + ms
    for (let alarms = 0; ; alarms++) {
      const atMs = (await alarmAtMs()) ?? Infinity
      const nextMs = Math.max(atMs + lateMs, clock.wallMs())
      if (nextMs > endMs) {
        await step(clock, endMs - clock.wallMs(), stepMs)
        // The time that passed may have led to an alarm.
        if (((await alarmAtMs()) ?? Infinity) + lateMs > endMs) return alarms
      } else {
        await step(clock, nextMs - clock.wallMs(), stepMs)
        await deliver(times)
      }
    }
  }
  const open: AdoptionStub[] = []
  return {
    clock,
    store,
    object,
    stub,
    locks: createLocker({ store, clock, ...defaults, renew: watchdog(env.WATCHDOG, { name, minTtl }), ttl: '120s' }),
    others: createLocker({ store, clock, renew: false }),
    deliver,
    alarmAtMs,
    async adopt(key, { ttl, holdForMs }) {
      const lease = await createLocker({ store, clock, renew: false, longHeld: '1h' }).acquire(key, { ttl })
      const ttlMs = parseDuration('ttl', ttl)
      const sinceMs = clock.monotonicMs()
      const again = (expiresInMs = ttlMs - clock.monotonicMs() + sinceMs): Promise<AdoptionStub> =>
        object.adopt({ key, token: lease.token, ttlMs, expiresInMs, holdForMs })
      const adoption = await again()
      let lost: LossReason | 'held' | undefined = 'held'
      void adoption.news.lost().then(
        (reason) => {
          lost = reason
        },
        () => undefined,
      )
      return {
        lease,
        adoption,
        link: adoption.link,
        again,
        async lost() {
          await object.status()
          return lost
        },
      }
    },
    async adoptAll(count, batches, ttl, from = store) {
      const ttlMs = parseDuration('ttl', ttl)
      const tokens = new Map<string, string>()
      for (let batch = 0; batch < batches; batch++) {
        const requests = Array.from({ length: count / batches }, (_, at) => ({
          key: `${name}-${batch}-${at}`,
          acquisitionId: crypto.randomUUID().replaceAll('-', ''),
          ttlMs,
          fences: 1,
        }))
        const outcomes = await from.acquire(requests, callUntil(new AbortController().signal))
        for (const [at, outcome] of outcomes.entries()) {
          if (outcome.type !== 'granted') throw new Error(outcome.type)
          tokens.set(requests[at]?.key ?? '', outcome.token)
        }
        const adopting = requests.map(({ key }) =>
          object.adopt({ key, token: tokens.get(key) ?? '', ttlMs, expiresInMs: ttlMs }),
        )
        open.push(...(await Promise.all(adopting)))
        await pass(ttlMs / 3 / batches, { stepMs: ttlMs })
      }
      return tokens
    },
    pass,
  }
}

/** In steps, so that RPCs to an object and back arrive at about their time. */
async function step(clock: ManualClock, ms: number, stepMs: number): Promise<void> {
  const steps = Math.max(1, Math.ceil(ms / stepMs))
  for (let at = 0; at < steps; at++) {
    await clock.advance(ms / steps)
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
}

/**
 * The clock as seen by an object. Its timers are the platform's, a hundred times as fast: a test may not call back into
 * an object, which is another context of the runtime.
 */
const seenFrom = (clock: ManualClock): Clock => ({
  monotonicMs: () => clock.monotonicMs(),
  wallMs: () => clock.wallMs(),
  schedule: (callback, delayMs) => systemClock.schedule(callback, delayMs / 100),
})
