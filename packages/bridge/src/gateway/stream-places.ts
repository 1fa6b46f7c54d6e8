export interface StreamLimits {
  readonly maxStreams: number
  readonly maxStreamsPerToken: number
}

/** Counts the open event streams, in total and per token. */
export class StreamPlaces {
  readonly #limits: StreamLimits
  readonly #of = new Map<number, number>()
  #open = 0

  constructor(limits: StreamLimits) {
    this.#limits = limits
  }

  /** Takes a place until the returned function is called. If none is free, returns whose limit is reached. */
  take(token: number): (() => void) | 'token' | 'gateway' {
    const { maxStreams, maxStreamsPerToken } = this.#limits
    const open = this.#of.get(token) ?? 0
    if (open >= maxStreamsPerToken) return 'token'
    if (this.#open >= maxStreams) return 'gateway'
    this.#count(token, 1)
    let taken = true
    return () => {
      if (taken) this.#count(token, -1)
      taken = false
    }
  }

  #count(token: number, change: 1 | -1): void {
    this.#open += change
    this.#of.set(token, (this.#of.get(token) ?? 0) + change)
  }
}
