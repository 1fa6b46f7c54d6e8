import type { BridgeEvent } from './bridge-events.ts'

/** Why a bridge is not ready, as far as its events tell. */
export class RedisHealth {
  #deaf: Error | undefined
  #unanswered: Error | undefined

  note(event: BridgeEvent): void {
    if (event.type === 'listening') this.#deaf = undefined
    if (event.type === 'deaf') this.#deaf = event.problem
    if (event.type === 'store-asked') this.#unanswered = event.problem
  }

  /** For anybody: of what Redis or the network said only the code, such as `NOPERM`, and no user, host or channel. */
  get summary(): string {
    return this.#told(
      ({ message, code }: Error & { readonly code?: string }) =>
        code ?? /^[A-Z][A-Z_]+\b/.exec(message)?.[0] ?? 'no answer',
    )
  }

  /** For who runs the bridge. */
  get reason(): string {
    return this.#told(({ message }) => message)
  }

  #told(of: (problem: Error) => string): string {
    const parts = [
      this.#deaf && `releases are not heard (${of(this.#deaf)})`,
      this.#unanswered && `locks cannot be read (${of(this.#unanswered)})`,
    ].filter((part) => part !== undefined)
    return parts.join('; ') || 'Redis does not answer in time, or does not allow it'
  }
}
