export interface SyncTokens {
  readonly current: () => string
  readonly next: () => string
}

/**
 * Makes what `upstash-sync-token` says: another text after each request that may have written, as the client expects of it.
 * It means nothing: there is one primary behind the gateway, and every read sees the writes before it, whatever token the
 * client sends.
 */
export function syncTokens(): SyncTokens {
  let run: string | undefined
  let count = 0
  const current = (): string => {
    // Not before the first request: on Workers there is nothing random at module scope.
    run ??= crypto.randomUUID().slice(0, 8)
    return `${run}-${count.toString(36)}`
  }
  return {
    current,
    next() {
      count++
      return current()
    },
  }
}
