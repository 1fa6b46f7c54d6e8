import type { Instant } from '../timing/validity.ts'
import type { Attempt } from './attempt.ts'
import type { AcquireRequest, LeaseStore, ReleaseOutcome } from './lease-store.ts'
import { type Granted, offers, type Passing, type PassOn } from './pass-on.ts'

/**
 * Offers the port for a store, and returns the store. It has a module of its own, so that bundles that do not use it do
 * not carry it.
 *
 * @param isCertain whether the store knows now whom a release reaches; default always. While it does not, locks are
 *   released and acquired in two requests
 */
export function offerPassOn(store: LeaseStore, passOn: PassOn, isCertain: () => boolean = () => true): LeaseStore {
  const begin = (request: AcquireRequest): Passing | undefined =>
    isCertain() ? new PassingRequest(passOn, request) : undefined
  offers.set(store, { passOn, begin })
  return store
}

/** States: *open*, until the store says whether it granted the lock → *granted*, which stays open, or *closed*. */
class PassingRequest implements Passing {
  readonly request: AcquireRequest
  isOpen = true
  granted: Granted | undefined
  declare sentAt: Instant
  readonly #passOn: PassOn

  constructor(passOn: PassOn, request: AcquireRequest) {
    this.#passOn = passOn
    this.request = request
  }

  send(token: string, attempt: Attempt<ReleaseOutcome>): void {
    this.sentAt = attempt.sentAt
    attempt.follow(this.#send(token, attempt))
  }

  async #send(token: string, attempt: Attempt<ReleaseOutcome>): Promise<ReleaseOutcome> {
    const { released, granted } = await this.#passOn({ ...this.request, token }, attempt)
    // Somebody else's token tells us nothing.
    if (granted?.token.startsWith(`${this.request.acquisitionId}.`)) this.granted = granted
    else this.isOpen = !!granted || released.type === 'unknown' || released.type === 'refused'
    return released
  }
}
