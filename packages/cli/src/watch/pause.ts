/** Resolves after `ms`, when the signal is aborted, or when `wake` is called. */
export const pause = (ms: number, signal: AbortSignal, listen?: (wake: () => void) => void): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    listen?.(end)
    if (signal.aborted) end()
  })
