interface Gate {
  readonly arrived: PromiseWithResolvers<void>
  readonly opened: PromiseWithResolvers<void>
}

/** Where a Worker's requests stop until the test lets them go on, each by its name. */
export class Gates {
  readonly #gates = new Map<string, Gate>()

  /** Resolves when somebody stands at the gate. */
  arrival(name: string): Promise<void> {
    return this.#gate(name).arrived.promise
  }

  open(name: string): void {
    this.#gate(name).opened.resolve()
  }

  /** Stands at the gate until it is open. */
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
