import type { BridgeReach } from './bridge-reach.ts'

/**
 * Reports that the other side is alive, and how soon it must do so again, in milliseconds. Do not call it after the
 * abort.
 */
export type Alive = (withinMs: number) => void

/**
 * Waits until the bridge may be asked, then makes a call. The call ends when it settles, when it does not report in
 * time that it is alive, or when it is stopped. Then its signal is aborted; it may ignore that.
 *
 * @param pauseMs  a pause of its own before the call, in addition to the one that all connections observe
 * @param withinMs how long the call may take until it first reports that it is alive
 * @param onEnd    called with the answer, or undefined for an error or silence; not called if the attempt was stopped
 * @returns a function that stops the attempt
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
  // A process that was frozen first reads what has arrived before it considers the other side dead.
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
