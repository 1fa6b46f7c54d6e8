/** Sends several requests as one, and returns one reply for each, in order. */
export type SendMany<Request, Reply> = (requests: readonly Request[]) => Promise<readonly Reply[]>

/**
 * Collects the requests of one turn of the event loop and sends them together, `size` at a time. A single request waits
 * for no others.
 */
export function batchesOf<Request, Reply>(
  send: SendMany<Request, Reply>,
  size: number,
): (request: Request) => Promise<Reply> {
  interface Waiting {
    readonly request: Request
    resolve(reply: Reply): void
    reject(error: unknown): void
  }
  let open: Waiting[] = []

  const flush = (): void => {
    const all = open
    open = []
    for (let from = 0; from < all.length; from += size) {
      const batch = all.slice(from, from + size)
      send(batch.map(({ request }) => request)).then(
        (replies) => batch.forEach(({ resolve }, at) => void resolve(replies[at] as Reply)),
        (error: unknown) => batch.forEach(({ reject }) => void reject(error)),
      )
    }
  }
  return (request) =>
    new Promise((resolve, reject) => {
      // Runs after every promise that the last replies settled: the requests these lead to belong to the same turn.
      if (open.push({ request, resolve, reject }) === 1) process.nextTick(flush)
    })
}
