interface Gate {
  readonly arrived: PromiseWithResolvers<void>
  readonly opened: PromiseWithResolvers<void>
}

/** Named gates where a Worker's requests stop until the test lets them continue. */
export class Gates {
  readonly #gates = new Map<string, Gate>()

  /** Resolves when a request is at the gate. */
  arrival(name: string): Promise<void> {
    return this.#gate(name).arrived.promise
  }

  open(name: string): void {
    this.#gate(name).opened.resolve()
  }

  /** Waits at the gate until it is open. */
  async pass(name: string): Promise<void> {
    const gate = this.#gate(name)
    gate.arrived.resolve()
    await gate.opened.promise
  }

  #gate(name: string): Gate {
    const gate = this.#gates.get(name) ?? { arrived: Promise.withResolvers(), opened: Promise.withResolvers() }
    this.#gates.set(name, gate)
    return gate
  }
}
