import { DurableObject } from 'cloudflare:workers'
import { InvalidOptionError, parseDuration, systemClock } from '@leasehold/core'
import type { DelegatedLease, DelegatedValidity } from '@leasehold/core/adapter'
import { afterFailureMs, defaultGrace } from './figures.ts'
import { LeaseLink, type LinkedObject, LossNews } from './lease-link.ts'
import { Leases } from './leases.ts'
import { Links } from './links.ts'
import { round, type Tell } from './round.ts'
import { statusOf, type WatchdogStatus } from './status.ts'
import type { ObjectContext } from './storage.ts'
import { type CheckedSettings, checkSettings, type WatchdogSettings } from './watchdog-settings.ts'

/** A Durable Object that keeps leases renewed. */
export interface LeaseWatchdogObject {
  /** For `watchdog`: adopts a lease. Resolves with a link to it, and with what reports its loss. */
  adopt(lease: DelegatedLease): Promise<object>
  /** For operators. */
  status(): Promise<WatchdogStatus>
  alarm(): Promise<void>
  /** The brand by which Cloudflare's types recognize a Durable Object. It has no value at run time. */
  readonly __DURABLE_OBJECT_BRAND: never
}

export type LeaseWatchdogClass<Env> = new (state: unknown, env: Env) => LeaseWatchdogObject

/**
 * Makes the class of a Durable Object that keeps the leases of Workers renewed, to export from a Worker:
 *
 *     export class LeaseWatchdog extends leaseWatchdog((env: Env) => ({ store: fetchStore({ url: env.REDIS_URL, token: env.REDIS_TOKEN }) })) {}
 *
 * It renews all leases that are due, or soon will be, with one request. Its state is in its storage, and the alarm is
 * set as long as it has a lease. So neither a restart nor an alarm that comes late or twice loses a lease that is held,
 * or touches a successor's. It renews a lease while its Worker's request goes on, at most until `maxHold`, and for the
 * grace after.
 *
 * @param settings called with the Worker's `env` when first needed. If it throws, adoption fails; a renewal is retried.
 */
export function leaseWatchdog<Env>(settings: (env: Env) => WatchdogSettings): LeaseWatchdogClass<Env> {
  return class extends DurableObject<Env> implements LeaseWatchdogObject {
    declare readonly __DURABLE_OBJECT_BRAND: never
    readonly #links = new Links()
    #checked: CheckedSettings | undefined
    readonly #leases: Leases
    /** The round in progress, shared by all who want one. */
    #round: Promise<void> | undefined
    /** When the alarm is set to go off, in milliseconds of the wall clock. */
    #alarmAtMs: number | undefined
    /** Before this time, no alarm is set: the storage has just failed. In milliseconds of the wall clock. */
    #restUntilMs = 0

    constructor(ctx: unknown, env: Env) {
      super(ctx as ObjectContext, env)
      this.#leases = new Leases(this.ctx.storage.sql)
      // If the storage fails here, the platform drops this object and starts another.
      void this.ctx.blockConcurrencyWhile(async () => {
        this.#leases.restart(this.#nowMs() + this.#graceMs())
        await this.#arm()
      })
    }

    async adopt(lease: DelegatedLease): Promise<{ readonly link: LeaseLink; readonly news: LossNews }> {
      const { minTtlMs, mostLeases } = this.#settings()
      if (lease.ttlMs < minTtlMs) {
        throw new InvalidOptionError('ttl', `must be at least ${minTtlMs} ms for a lease that is renewed by an alarm`)
      }
      if (!this.#leases.get(lease.token) && this.#leases.count >= mostLeases) {
        throw new Error(
          `This watchdog renews ${mostLeases} leases already; spread keys over several objects with shards`,
        )
      }
      this.#leases.adopt(lease, this.#nowMs())
      const news = new LossNews()
      const link = new LeaseLink(this.#linked, lease.token, news)
      this.#links.add(link)
      await this.#arm()
      return { link, news }
    }

    async status(): Promise<WatchdogStatus> {
      return statusOf(this.#leases.status())
    }

    /** Never throws: the platform retries a throwing alarm six times, and then never again. */
    async alarm(): Promise<void> {
      await this.#renewDue()
      // The alarm has gone off, whatever the round did.
      this.#alarmAtMs = undefined
      await this.#arm()
    }

    /** One round at a time. Whatever happens, the alarm is set after it. */
    #renewDue(): Promise<void> {
      this.#round ??= this.#runRound().finally(() => {
        this.#round = undefined
      })
      return this.#round
    }

    async #runRound(): Promise<void> {
      const tell: Tell = (token, reason) => this.#links.tell(token, reason)
      try {
        await round(this.#leases, () => this.#settings(), this.#nowMs(), tell)
        this.#restUntilMs = 0
      } catch {
        // Only the storage can fail. Its contents are not lost, so what was due may still be: without a rest, the alarm
        // would go off at once, and send another request.
        this.#restUntilMs = this.#nowMs() + afterFailureMs
      }
      await this.#arm()
    }

    /** Sets the alarm for the earliest thing to do, and deletes it when there is nothing. Never throws. */
    async #arm(): Promise<void> {
      const { storage } = this.ctx
      try {
        const nextMs = this.#leases.nextMs()
        const atMs = nextMs && Math.max(nextMs, this.#restUntilMs)
        if (atMs === this.#alarmAtMs) return
        this.#alarmAtMs = atMs
        await (atMs === undefined ? storage.deleteAlarm() : storage.setAlarm(atMs))
      } catch {
        this.#alarmAtMs = undefined
        await storage.setAlarm(this.#nowMs() + afterFailureMs).catch(() => undefined)
      }
    }

    readonly #linked: LinkedObject = {
      remaining: async (link): Promise<DelegatedValidity> => {
        const token = LeaseLink.tokenOf(link)
        // A question also triggers a round, so a late alarm does no harm while the holder lives.
        if ((this.#leases.get(token)?.dueMs ?? Infinity) <= this.#nowMs()) await this.#renewDue()
        const lease = this.#leases.get(token)
        if (!lease) return { validForMs: 0, lost: LossNews.reasonOf(LeaseLink.newsOf(link)) ?? 'expired' }
        const { validUntilMs, confirmed, unanswered } = lease
        const validForMs = confirmed ? Math.max(0, validUntilMs - this.#nowMs()) : 0
        if (unanswered === 0) return { validForMs }
        return { validForMs, unanswered: (await this.status()).lastRequest?.trouble ?? 'No answer' }
      },
      ended: (link) => {
        const token = LeaseLink.tokenOf(link)
        this.#leases.drop(token)
        this.#links.tell(token, undefined)
        void this.#arm()
      },
      unlinked: (link) => {
        if (!this.#links.remove(link)) return
        this.#leases.unlink(LeaseLink.tokenOf(link), this.#nowMs() + this.#graceMs())
        void this.#arm()
      },
    }

    #settings(): CheckedSettings {
      this.#checked ??= checkSettings(settings(this.env))
      return this.#checked
    }

    #nowMs(): number {
      return this.#orDefaults().clock.wallMs()
    }

    #graceMs(): number {
      return this.#orDefaults().graceMs
    }

    /** While a setting is bad, adoptions fail with its name, and renewals go unanswered. Deadlines still apply. */
    #orDefaults(): Pick<CheckedSettings, 'clock' | 'graceMs'> {
      try {
        return this.#settings()
      } catch {
        return { clock: systemClock, graceMs: parseDuration('grace', defaultGrace) }
      }
    }
  }
}
