import { AsyncLocalStorage } from 'node:async_hooks'
import { ManualClock } from './manual-clock.ts'

/** A manual clock whose timers run in the async context in which they were armed, as a runtime's do. */
export class ContextClock extends ManualClock {
  override schedule(callback: () => void, delayMs: number, mode?: 'background' | 'standing'): () => void {
    return super.schedule(AsyncLocalStorage.bind(callback), delayMs, mode)
  }
}
