import { jointCalls } from '#joint-calls'
import { sharesBetweenCalls } from '#sharing'
import type { Context } from '../context.ts'
import { Renewal } from '../lease/renewal.ts'
import { PacedCalls } from '../queue/paced-calls.ts'
import type { Attempt } from '../store/attempt.ts'
import type { AcquireOutcome, AcquireRequest } from '../store/lease-store.ts'
import type { EnterRequest, PresenceStore, RoomEntry } from '../store/presence.ts'
import { storeWith } from '../store/store-with.ts'

/** Who enters, and how. */
export type Entrant = Omit<EnterRequest, 'key' | 'acquisitionId' | 'ttlMs'>

/** What the entries of one locker need. They are leases whose store is the presence port. */
export class RoomLeases {
  /** The locker's context, with leases renewed and given back by that port. */
  readonly context: Context
  readonly #port: PresenceStore
  readonly #paced: PacedCalls
  readonly #joint: Renewal

  constructor(context: Context, port: PresenceStore) {
    const store = storeWith(context.store, {
      renew: (requests, call) => port.renew(requests, call),
      release: (requests, call) => port.leave(requests, call),
    })
    this.context = { ...context, store, calls: jointCalls({ ...context, store }) }
    this.#port = port
    this.#paced = new PacedCalls(this.context)
    this.#joint = new Renewal(this.context, true)
  }

  /** Where calls share nothing, each lease has a watchdog of its own. */
  get renewal(): Renewal {
    return sharesBetweenCalls() ? this.#joint : new Renewal(this.context)
  }

  /**
   * The context of one enter. Its tries ask the port to let this entrant in; the rest, such as undoing, is the same.
   */
  entering(entrant: Entrant, onHeld: (by: RoomEntry) => void): Context {
    const { calls } = this.context
    const enter = ({ key, acquisitionId, ttlMs }: AcquireRequest, attempt: Attempt<AcquireOutcome>): void =>
      this.#paced.send(
        key,
        async (call): Promise<AcquireOutcome> => {
          const outcome = await this.#port.enter({ key, acquisitionId, ttlMs, ...entrant }, call)
          if (outcome.type !== 'held') return outcome
          onHeld(outcome.by)
          return { type: 'held', expiresInMs: outcome.by.expiresInMs, cursor: '-', holder: outcome.by.server }
        },
        attempt,
      )
    return { ...this.context, calls: { ...calls, acquire: enter } }
  }
}
