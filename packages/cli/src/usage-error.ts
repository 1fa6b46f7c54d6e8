/** The command line cannot be carried out as it is. The message is for whoever typed it, and contains no secret. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}
