import { type Acquired, Acquisition, type Terms } from '../acquire/acquisition.ts'
import { undoAcquire } from '../acquire/claim.ts'
import type { Context } from '../context.ts'
import { LeaseholdError } from '../errors.ts'
import { Grant } from '../lease/grant.ts'
import { isUnknown, silence } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Attempt } from '../store/attempt.ts'
import type { AcquireOutcome, AcquireRequest, ReleaseOutcome, ReleaseRequest } from '../store/lease-store.ts'
import type { AcquireAllOutcome, AcquireAllRequest, ManyStore } from '../store/many.ts'
import { acquisitionIdOf, drawAcquisitionId } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { naming } from './naming.ts'
import type { SetPlan } from './set-plan.ts'
import { setWaiter } from './set-waiter.ts'

/** How an acquire of several locks ended: with all of their grants, in order, or with none. */
export interface SetAcquired extends Omit<Acquired, 'grant'> {
  readonly grants: readonly Grant[]
}

/** The request cannot span these keys. Nothing was carried out. */
export const apart: unique symbol = Symbol('apart')

type GroupTerms = Pick<Terms, 'since' | 'known' | 'toldContended' | 'onFinding'>

/** Acquires the locks of one group, with one request for all. */
export async function acquireGroup(
  context: Context,
  many: ManyStore | undefined,
  keys: readonly string[],
  plan: SetPlan,
  terms: GroupTerms,
): Promise<SetAcquired | typeof apart> {
  const [key = ''] = keys
  plan.key = key
  const group = many && new Group(context, many, keys, plan, terms.since)
  try {
    const acquisition = new Acquisition(group?.context ?? context, plan, { ...terms, fences: 1 })
    const { grant, ...rest } = await acquisition.run()
    return { ...rest, grants: !grant ? [] : (group?.grantsBehind(grant) ?? [grant]) }
  } catch (error) {
    if (group && keys.length > 1) {
      if (group.isApart) return apart
      // Unless the store has said so, nobody knows which lock the error is about.
      if (!group.isAboutOne) throw error
    }
    throw naming(plan.key, error)
  } finally {
    group?.leave()
  }
}

/**
 * A group of locks that looks like one lock to an acquisition, which tries, waits, tries again and undoes as for any
 * lock. Each of its requests stands for one request for all of the locks. Its acquisition id stands for one id per
 * lock, so that whoever learns one token has no power over the other locks.
 */
class Group {
  /** The context that the acquisition runs in. */
  readonly context: Context
  /** Whether it turned out that one request cannot span the keys. */
  isApart = false
  /** Whether the store's last answer was about one of the locks, which the plan then names. */
  isAboutOne = false
  readonly #context: Context
  readonly #many: ManyStore
  readonly #keys: readonly string[]
  readonly #plan: SetPlan
  readonly #since: Instant
  /** The keys and acquisition ids by which the store may know the group as an elder. */
  #marked: AcquireAllRequest['locks'] | undefined
  /** The acquisition ids of the locks, by the id of the acquisition. */
  readonly #ids = new Map<string, readonly string[]>()
  /** The tokens and fences that were granted, by the id of the acquisition. */
  readonly #granted = new Map<string, readonly { readonly token: string; readonly fence: number }[]>()

  constructor(context: Context, many: ManyStore, keys: readonly string[], plan: SetPlan, since: Instant) {
    const { notifier } = context
    this.#context = context
    this.#many = many
    this.#keys = keys
    this.#plan = plan
    this.#since = since
    const waiter: ReleaseNotifier['waiter'] = (clock) => setWaiter(notifier, clock, plan)
    this.context = {
      ...context,
      // An acquisition asks its notifier only for a waiter.
      notifier: { waiter } as ReleaseNotifier,
      calls: {
        ...context.calls,
        acquire: (request, attempt) => attempt.follow(this.#acquire(request, attempt)),
        release: (request, attempt) => attempt.follow(this.#release(request, attempt)),
      },
    }
  }

  /** The grants of the locks that the acquisition's own grant stands for. */
  grantsBehind({ token, heldSince }: Grant): readonly Grant[] {
    const granted = this.#granted.get(acquisitionIdOf(token)) ?? []
    const validity = { sentAt: heldSince, ttlMs: this.#plan.ttlMs }
    return granted.map(
      ({ token, fence }, at) => new Grant(this.#context.clock, this.#keys[at] as string, token, fence, validity),
    )
  }

  #idsOf(acquisitionId: string): readonly string[] {
    const known = this.#ids.get(acquisitionId)
    if (known) return known
    const drawn = this.#keys.map(() => drawAcquisitionId(this.#context.name))
    this.#ids.set(acquisitionId, drawn)
    return drawn
  }

  async #acquire({ acquisitionId, ttlMs }: AcquireRequest, call: CallDeadline): Promise<AcquireOutcome> {
    const ids = this.#idsOf(acquisitionId)
    const locks = this.#keys.map((key, at) => ({ key, acquisitionId: ids[at] as string }))
    const waitedMs = elapsedMs(instant(this.#context.clock), this.#since)
    const outcome = await this.#many.acquireAll({ locks, ttlMs, waitedMs }, call)
    if (outcome.type === 'apart') {
      this.isApart = true
      // This is an answer, so nothing has to be undone.
      return { type: 'refused', error: new LeaseholdError('INVALID_OPTION', 'The keys lie apart') }
    }
    if (outcome.type === 'granted') return this.#grantedFor(acquisitionId, ids, outcome)
    if (outcome.type === 'held') this.#plan.isElder = outcome.isElder
    if (this.#plan.isElder) this.#marked = locks
    // Whatever is left of the grants would keep others out. Every attempt may have been answered: a client may send a
    // request twice.
    if (outcome.type === 'spent') {
      const request = { key: this.#plan.key, acquisitionId, ttlMs, fences: 1 }
      this.#context.work.background(() => undoAcquire(this.context, request, { quietUntilMs: 0 }))
    }
    this.isAboutOne = outcome.type === 'refused' && outcome.at !== undefined
    if ('at' in outcome) this.#plan.key = this.#keys[outcome.at as number] ?? this.#plan.key
    return outcome
  }

  /** An answer to somebody else's request tells us nothing. */
  #grantedFor(
    acquisitionId: string,
    ids: readonly string[],
    { grants }: Extract<AcquireAllOutcome, { readonly type: 'granted' }>,
  ): AcquireOutcome {
    if (!ids.every((id, at) => grants[at]?.token.startsWith(`${id}.`))) return silence
    this.#granted.set(acquisitionId, grants)
    this.#marked = undefined
    return { type: 'granted', token: `${acquisitionId}.0`, fence: 0 }
  }

  /** Tells the store that the group has stopped waiting, so nobody needs to stand back for it. */
  leave(): void {
    if (!this.#marked) return
    const request = { locks: this.#marked, ttlMs: 0, waitedMs: 0 }
    const send = (attempt: Attempt<AcquireAllOutcome>): void => attempt.follow(this.#many.acquireAll(request, attempt))
    this.#context.work.background(() => ask(this.#context, this.#plan.ttlMs, { send }))
  }

  /** Undoes what may have been granted. */
  async #release(request: ReleaseRequest, call: CallDeadline): Promise<ReleaseOutcome> {
    const ids = this.#idsOf('token' in request ? acquisitionIdOf(request.token) : request.acquisitionId)
    const requests = this.#keys.map((key, at) => ({ key, acquisitionId: ids[at] as string }))
    const outcomes = await this.#context.store.release(requests, call)
    const { type } = outcomes.find((outcome) => outcome.type !== 'released') ?? {}
    if (type === undefined) return { type: 'released', announced: true, subscribers: null }
    return outcomes.find(isUnknown) ?? { type: 'gone', resent: false }
  }
}
