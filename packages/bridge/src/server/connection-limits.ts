/** Counts the waits and streams that are open, of each client and of all. */
export class ConnectionLimits {
  readonly #most: { readonly perClient: number; readonly total: number }
  readonly #open = new Map<string, number>()
  #total = 0

  constructor(most: { readonly perClient: number; readonly total: number }) {
    this.#most = most
  }

  /** Takes a place for the client; answers what gives it back, or undefined if there is none. */
  take(client: string): (() => void) | undefined {
    const open = this.#open.get(client) ?? 0
    if (open >= this.#most.perClient || this.#total >= this.#most.total) return undefined
    this.#open.set(client, open + 1)
    this.#total++
    let given = true
    return () => {
      if (!given) return
      given = false
      this.#total--
      const left = (this.#open.get(client) ?? 1) - 1
      if (left > 0) this.#open.set(client, left)
      else this.#open.delete(client)
    }
  }
}
