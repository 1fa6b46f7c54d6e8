export interface SyncTokens {
  readonly current: () => string
  readonly next: () => string
}

/**
 * Makes the values of `upstash-sync-token`: a new one for each request that may have written, as the client expects.
 * The value carries no meaning: there is one primary behind the gateway, so every read sees the writes before it,
 * whatever token the client sends.
 */
export function syncTokens(): SyncTokens {
  let run: string | undefined
  let count = 0
  const current = (): string => {
    // Drawn at the first request: Workers forbid randomness at module scope.
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
