import type { Finding } from '../store/finding.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { withDeadline } from '../timing/deadline.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import type { Budget } from './budget.ts'
import { type Hearing, listen, unheard } from './hearing.ts'
import { failure, type Outcome } from './refusal.ts'

/** How long a rehearsed lock stays taken at most, in milliseconds, should this process end meanwhile. */
const ttlMs = 10_000

/** What a rehearsal uses: the store and notifier of a locker. */
export interface Stage {
  readonly store: LeaseStore
  readonly notifier?: ReleaseNotifier | undefined
}

export interface Rehearsal {
  readonly findings: readonly Finding[]
  /** Whether the store answers requests, if only to refuse them. */
  readonly reached: boolean
  /** Whether the store may announce releases, as far as was tried. */
  readonly announces: boolean
  /** How long the news of each release took, in milliseconds. */
  readonly newsMs: readonly number[]
}

/**
 * Acquires a lock that nobody else wants, renews it and gives it back, `rounds` times, and listens for the releases.
 * Whatever goes wrong is a finding. There is no better way to test permissions: only new servers have a command for
 * that, and few users may run it.
 */
export async function rehearse(stage: Stage, key: string, rounds = 1, budget: Budget): Promise<Rehearsal> {
  const play = new Play(stage, key, budget)
  try {
    for (let round = 0; round < rounds && play.goesOn; round++) await play.round()
  } finally {
    play.close()
  }
  return play
}

class Play implements Rehearsal {
  readonly #stage: Stage
  readonly #key: string
  readonly #budget: Budget
  readonly #findings: Finding[] = []
  readonly #newsMs: number[] = []
  #hearing: Hearing | undefined
  #reached = false
  #announces = true
  #failed = false
  /** An acquisition that may have been granted and was not given back. */
  #open: { readonly key: string; readonly acquisitionId: string } | undefined

  constructor(stage: Stage, key: string, budget: Budget) {
    this.#stage = stage
    this.#key = key
    this.#budget = budget
  }

  get findings(): readonly Finding[] {
    return this.#findings
  }

  get newsMs(): readonly number[] {
    return this.#newsMs
  }

  get reached(): boolean {
    return this.#reached
  }

  get announces(): boolean {
    return this.#announces
  }

  /** Whether another round would show anything. */
  get goesOn(): boolean {
    return !this.#failed && this.#announces && !this.#hearing?.disconnected
  }

  async round(): Promise<void> {
    const key = this.#key
    const { store } = this.#stage
    const acquisitionId = drawAcquisitionId()
    this.#open = { key, acquisitionId }
    const granted = await this.#ask('granted', (call) =>
      store.acquire([{ key, acquisitionId, ttlMs, fences: 1 }], call),
    )
    if (!granted) return
    const token = (granted as { readonly token?: string }).token ?? ''
    const request = { key, token }
    await this.#listen()
    if (this.#failed) return
    await this.#ask('renewed', (call) => store.renew([{ ...request, ttlMs }], call))
    const seen = this.#hearing?.signals ?? 0
    const fromMs = this.#budget.clock.monotonicMs()
    const released = await this.#ask('released', (call) => store.release([request], call))
    if (!released) return
    this.#open = undefined
    await this.#hear(released as { readonly announced?: boolean }, seen, fromMs)
  }

  /** Leaves nothing behind: undoes, in the background, an acquire left open by an ended check or a missing answer. */
  close(): void {
    this.#hearing?.close()
    const open = this.#open
    if (!open || !this.#reached) return
    const { store } = this.#stage
    const undo = (call: CallOf): Promise<unknown> => store.release([open], call)
    // If that fails, the ttl frees it.
    withDeadline(this.#budget.clock, store.commandDeadlineMs, undo).catch(() => undefined)
  }

  async #listen(): Promise<void> {
    const { store, notifier } = this.#stage
    if (!notifier || this.#hearing || (store.prefix ?? notifier.prefix) !== (notifier.prefix ?? store.prefix)) return
    // A waiter subscribes with what a contended acquire was told.
    const wish = { key: this.#key, acquisitionId: drawAcquisitionId(), ttlMs, fences: 1 }
    const held = await this.#ask('held', (call) => store.acquire([wish], call))
    if (!held) return
    const { cursor = '-' } = held as { readonly cursor?: string }
    this.#hearing = await listen(notifier, this.#key, cursor, store.prefix, this.#budget)
    if (this.#hearing.disconnected) this.#findings.push(this.#hearing.disconnected)
  }

  async #hear({ announced }: { readonly announced?: boolean }, seen: number, fromMs: number): Promise<void> {
    if (announced === false) {
      this.#announces = false
    } else if (this.#hearing && !this.#hearing.disconnected) {
      if (await this.#hearing.next(seen)) this.#newsMs.push(this.#budget.clock.monotonicMs() - fromMs)
      else this.#tell(unheard())
    }
  }

  /** The outcome of a request if it is the expected one. Anything else becomes a finding and ends the rehearsal. */
  async #ask(expected: string, run: (call: CallOf) => Promise<readonly Outcome[]>): Promise<Outcome> {
    const { store } = this.#stage
    // Twice a command's time, because the first call may have to connect.
    const outcomes = await this.#budget.ask(2 * store.commandDeadlineMs, async (call) => {
      try {
        return await run(call)
      } catch (cause: unknown) {
        // No store may reject such a request, but one might.
        return [{ type: 'unknown', executed: 'unknown', cause } as const]
      }
    })
    const outcome = outcomes?.[0]
    if (outcome?.type === expected) {
      this.#reached = true
      return outcome
    }
    const found = failure(outcome, store.prefix)
    if (!isShutOut(found)) this.#reached = true
    this.#tell(found)
    return undefined
  }

  #tell(found: Finding): void {
    this.#failed = true
    this.#findings.push(found)
  }
}

type CallOf = Parameters<LeaseStore['acquire']>[1]

/** Whether the client has no connection on which it could send anything. */
const isShutOut = ({ code }: Finding): boolean => ['UNREACHABLE', 'LOGIN_REFUSED', 'NOT_A_CLUSTER'].includes(code)
