import type { BridgeReach } from './bridge-reach.ts'

/** Says that the other side is alive, and within how long this must be said again. Do not call it after the abort. */
export type Alive = (withinMs: number) => void

/**
 * Waits until the bridge may be asked, then makes a call. The call ends when it settles, when it does not say in time that it is
 * alive, or when it is stopped. Then its signal is aborted; it need not heed that.
 *
 * @param pauseMs  a pause of its own first, beside the one that all connections keep
 * @param withinMs how long the call may take until it first says that it is alive
 * @param onEnd    called with the answer, or undefined for an error or silence; not called once the attempt was stopped
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
  // A process that was frozen first reads what has arrived, before it takes the other side for dead.
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
