import type { BridgeReach } from './bridge-reach.ts'

/** Says that the other side is alive, and by when it has to be said again. Not to be called once the signal is aborted. */
export type Alive = (withinMs: number) => void

/**
 * Pauses as long as the bridge must be left alone, then makes the call. Its signal is aborted when that settles, was not
 * said to be alive in time, or is stopped. Whether the call heeds the signal does not matter.
 *
 * @param pauseMs  a pause of one's own before it, beside the one that all keep
 * @param withinMs how long it may take until it first says that it is alive
 * @param onEnd    told what it answered; undefined for an error or for silence; nothing once it was stopped
 * @returns what stops it
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
  // A process that was frozen for longer reads what has come meanwhile before it takes the other side for dead.
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
