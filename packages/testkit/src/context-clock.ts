import { AsyncLocalStorage } from 'node:async_hooks'
import { ManualClock } from './manual-clock.ts'

/** A manual clock whose timers go on in the async context in which they were armed, as those of a runtime do. */
export class ContextClock extends ManualClock {
  override schedule(callback: () => void, delayMs: number, mode?: 'background' | 'standing'): () => void {
    return super.schedule(AsyncLocalStorage.bind(callback), delayMs, mode)
  }
}
