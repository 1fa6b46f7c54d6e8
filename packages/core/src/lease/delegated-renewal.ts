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
 * Makes a watchdog, for the option `renew`, from a port to whatever renews.
 *
 * The acquire does not wait for the watchdog: the lease is valid by itself for a whole ttl, and a lease that is given
 * back within a second is never adopted at all.
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
 * It works like any other renewal, except that it asks the watchdog instead of the store: due when a third of the ttl
 * is over, paced while unanswered, and in the end lost as `unreachable`. Its first request, and the first after a
 * broken link, is to be adopted.
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
    // The token will be known outside this process, so the grant may not be handed off.
    grant.tokenLeft = true
    this.#plan = plan
    this.#watchFrom(grant, plan, 1)
  }

  /** Watches the grant, and asks within a share of the time that a lease has before it is adopted. */
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

  /** Tells the watchdog that the lease has ended, at once or when the adoption in flight has brought a link. */
  async #end({ ttlMs }: Grant): Promise<void> {
    const link = this.#link
    // An adoption that completes from now on tells the watchdog by itself.
    const telling = link ? promised(link, 'end') : this.#adopting
    await settledWithin(this.#context.clock, commandDeadlineMs(this.#context, ttlMs), Promise.resolve(telling))
  }

  /** Asks for one grant, and applies the answer, on time or late. */
  async #askFor(grant: Grant): Promise<Answer<readonly RenewOutcome[]>> {
    const { clock } = this.#context
    const sentAt = instant(clock)
    const link = this.#link
    // It is repeated, so each attempt gets half of a command deadline.
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

  /** Never rejects. A link that arrives late is used all the same. */
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
      // The lease has ended meanwhile, and nobody waits for this link anymore.
      if (this.#isOver) await promised(link, 'end')
      return { type: 'renewed' }
    } catch (cause) {
      return { ...silence, cause } satisfies Unknown
    }
  }

  /** The watchdog has stopped renewing. */
  #ended(grant: Grant, link: WatchdogLink, reason: LossReason): void {
    // The store itself said so. The holder judges time by itself: it may have extended the lease, which the watchdog
    // cannot know.
    if (reason === 'gone' || reason === 'superseded') grant.lose(reason)
    else grant.check()
    this.#broken(grant, link)
  }

  /** Asks to be adopted again soon, with jitter: a watchdog that comes back may have lost a thousand links at once. */
  #broken(grant: Grant, link: WatchdogLink): void {
    if (this.#link !== link) return
    this.#link = undefined
    this.#adopting = undefined
    const plan = this.#plan
    if (this.#isOver || !plan) return
    const now = instant(this.#context.clock)
    // Watched anew, but keeping the time that is left until the event `long-held`.
    const longHeldMs = grant.longHeldAtMs - now.monotonicMs + grant.heldMs(now)
    this.#watchFrom(grant, { ...plan, longHeldMs }, jitter())
  }
}

/** Calls a method of a link. Async, so that a method that throws rejects instead. */
const promised = async <K extends 'remaining' | 'end'>(
  link: WatchdogLink,
  name: K,
): Promise<Awaited<ReturnType<WatchdogLink[K]>>> => (await link[name]()) as Awaited<ReturnType<WatchdogLink[K]>>
