import type { Context } from '../context.ts'
import type { LossReason } from '../errors.ts'
import type { Plan } from '../options.ts'
import { type Answer, silence } from '../store/answered.ts'
import type { RenewOutcome, Unknown } from '../store/lease-store.ts'
import { commandDeadlineMs } from '../store/question.ts'
import { jitter } from '../timing/backoff.ts'
import { settledWithin, withDeadline } from '../timing/deadline.ts'
import { instant } from '../timing/validity.ts'
import type { Watchdog, WatchdogLink, WatchdogPort } from '../watchdog.ts'
import { adoptAfterMs } from './figures.ts'
import type { Grant } from './grant.ts'
import { Renewal } from './renewal.ts'
import type { Watch, WatchMaker } from './watch.ts'

/**
 * Makes a watchdog of a port to whoever renews, for the option `renew`.
 *
 * The acquire does not wait for the watchdog: the lease is valid by itself for a whole ttl, and a lease that is given back within a
 * second is never adopted at all.
 *
 * @example
 * ```ts
 * const elsewhere = delegatedRenewal({ minTtlMs: 120_000, adopt: (lease) => client.adopt(lease) })
 * await using lease = await locks.acquire('import:7', { ttl: '2m', renew: elsewhere })
 * ```
 */
export function delegatedRenewal(port: WatchdogPort): Watchdog {
  const made: WatchMaker = {
    minTtlMs: port.minTtlMs,
    watchFor: (context) => new DelegatedRenewal(context, port),
  }
  return made
}

/**
 * Watches over one grant that is renewed elsewhere.
 *
 * It is a renewal like any other, but that it asks the watchdog in place of the store: due when a third of the ttl is over, paced
 * while it gets no answer, and lost as `unreachable` in the end. The first thing it asks is to be adopted, and so is the next after
 * the link was broken.
 */
class DelegatedRenewal implements Watch {
  readonly #context: Context
  readonly #port: WatchdogPort
  readonly #renewal: Renewal
  #link: WatchdogLink | undefined
  /** The last adoption, which may still bring a link. */
  #adopting: Promise<unknown> | undefined
  #plan: Plan | undefined
  #isOver = false

  constructor(context: Context, port: WatchdogPort) {
    this.#context = context
    this.#port = port
    // There is one grant.
    this.#renewal = new Renewal(context, false, (_, grants) => this.#askFor(grants[0] as Grant))
  }

  watch(grant: Grant, plan: Plan): void {
    // Somebody outside this process will know it, so it may not be handed off.
    grant.tokenLeft = true
    this.#plan = plan
    this.#watchFrom(grant, plan, 1)
  }

  /** Watches it, and asks for it within a share of the time that a lease has before it is adopted. */
  #watchFrom(grant: Grant, plan: Plan, share: number): void {
    const waitMs = Math.min(adoptAfterMs, grant.ttlMs / 12) * share
    if (!grant.renewing) grant.dueMs = Math.min(grant.dueMs, this.#context.clock.monotonicMs() + waitMs)
    this.#renewal.watch(grant, plan)
  }

  forget(grant: Grant): void {
    this.#renewal.forget(grant)
    if (this.#isOver) return
    this.#isOver = true
    if (this.#adopting !== undefined) this.#context.work.background(() => this.#end(grant))
  }

  /** Tells the watchdog that the lease has ended, at once or when the adoption that is under way has brought a link. */
  async #end({ ttlMs }: Grant): Promise<void> {
    const link = this.#link
    // An adoption that comes to its end now tells the watchdog by itself.
    const telling = link ? promised(link, 'end') : this.#adopting
    await settledWithin(this.#context.clock, commandDeadlineMs(this.#context, ttlMs), Promise.resolve(telling))
  }

  /** Asks for one grant, and applies the answer, in time or late. */
  async #askFor(grant: Grant): Promise<Answer<readonly RenewOutcome[]>> {
    const { clock } = this.#context
    const sentAt = instant(clock)
    const link = this.#link
    // It is repeated, so an attempt has the time of one of two.
    const limitMs = commandDeadlineMs(this.#context, grant.ttlMs) / 2
    const asking = link ? this.#ask(grant, link) : this.#adopt(grant)
    const outcome = (await withDeadline(clock, limitMs, () => asking)) ?? silence
    return { outcome: [outcome], sentAt, before: 'no' }
  }

  /** Never rejects. */
  async #ask(grant: Grant, link: WatchdogLink): Promise<RenewOutcome> {
    const sentAt = instant(this.#context.clock)
    try {
      const { validForMs, unanswered, lost } = await promised(link, 'remaining')
      grant.take({ type: 'renewed' }, { sentAt, ttlMs: validForMs })
      if (lost) this.#ended(grant, link, lost)
      return unanswered === undefined ? { type: 'renewed' } : { ...silence, cause: new Error(unanswered) }
    } catch (cause) {
      this.#broken(grant, link)
      return { ...silence, cause }
    }
  }

  /** Never rejects. A link that comes late serves as well. */
  #adopt(grant: Grant): Promise<RenewOutcome> {
    const adopting = this.#adopted(grant)
    this.#adopting = adopting
    return adopting
  }

  async #adopted(grant: Grant): Promise<RenewOutcome> {
    const { key, token, ttlMs, holdUntilMs } = grant
    const { clock } = this.#context
    const now = instant(clock)
    const holdForMs = holdUntilMs === Infinity ? undefined : holdUntilMs - now.monotonicMs
    try {
      const link = await this.#port.adopt({ key, token, ttlMs, expiresInMs: grant.expiresInMs(now), holdForMs })
      link.lost.then(
        (reason) => reason && this.#ended(grant, link, reason),
        () => this.#broken(grant, link),
      )
      this.#link = link
      // The lease has ended meanwhile, and nobody waits for this link any more.
      if (this.#isOver) await promised(link, 'end')
      return { type: 'renewed' }
    } catch (cause) {
      return { ...silence, cause } satisfies Unknown
    }
  }

  /** The watchdog renews no more. */
  #ended(grant: Grant, link: WatchdogLink, reason: LossReason): void {
    // The store has said so. Of time the holder judges by itself: it may have extended the lease, which the watchdog cannot know.
    if (reason === 'gone' || reason === 'superseded') grant.lose(reason)
    else grant.check()
    this.#broken(grant, link)
  }

  /** Adopts again soon, each at another moment: a watchdog that comes back may have lost a thousand links at once. */
  #broken(grant: Grant, link: WatchdogLink): void {
    if (this.#link !== link) return
    this.#link = undefined
    this.#adopting = undefined
    const plan = this.#plan
    if (this.#isOver || !plan) return
    const now = instant(this.#context.clock)
    // Watched anew, but with what it has left until it counts as held for long.
    const longHeldMs = grant.longHeldAtMs - now.monotonicMs + grant.heldMs(now)
    this.#watchFrom(grant, { ...plan, longHeldMs }, jitter())
  }
}

/** A call of a link. Async, so that one that throws rejects. */
const promised = async <K extends 'remaining' | 'end'>(
  link: WatchdogLink,
  name: K,
): Promise<Awaited<ReturnType<WatchdogLink[K]>>> => (await link[name]()) as Awaited<ReturnType<WatchdogLink[K]>>
