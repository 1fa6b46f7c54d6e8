import type { BridgeReach } from './bridge-reach.ts'

/** Says that the other side is alive, and within how long it has to be said again. Not to be called after the abort. */
export type Alive = (withinMs: number) => void

/**
 * Pauses as long as the bridge must be left alone, then makes a call. The call ends when it settles, when it does not say in
 * time that it is alive, or when it is stopped; then its signal is aborted. It need not heed the signal.
 *
 * @param pauseMs  a pause of its own before that, beside the one that all keep
 * @param withinMs how long the call may take until it first says that it is alive
 * @param onEnd    told what it answered, undefined for an error or for silence; not told once it was stopped
 * @returns a function that stops it
 */
export function attempt<T>(
  reach: BridgeReach,
  pauseMs: number,
  withinMs: number,
  call: (signal: AbortSignal, alive: Alive) => Promise<T>,
  onEnd: (answer: T | undefined) => void,
): () => void {
  const controller = new AbortController()
  const { signal } = controller
  let cancel: (() => void) | undefined
  const after = (ms: number, callback: () => void): void => {
    cancel?.()
    cancel = reach.clock.schedule(callback, ms, 'background')
  }
  const stop = (): void => {
    cancel?.()
    controller.abort()
  }
  const end = (answer?: T, trouble?: unknown): void => {
    if (signal.aborted) return
    stop()
    reach.trouble = trouble
    onEnd(answer)
  }
  // A process that was frozen meanwhile first reads what has come, before it takes the other side for dead.
  const alive: Alive = (ms) => after(ms, () => after(0, end))
  function begin(): void {
    const leftMs = reach.pauseMs()
    if (leftMs > 0) after(leftMs, begin)
    else {
      alive(withinMs)
      call(signal, alive).then(end, (error) => end(undefined, error))
    }
  }
  after(pauseMs, begin)
  return stop
}
