/** Thrown when somebody pressed Ctrl-C, or sent SIGTERM. */
export class Interrupted extends Error {
  constructor() {
    super('Interrupted')
    this.name = 'Interrupted'
  }
}
