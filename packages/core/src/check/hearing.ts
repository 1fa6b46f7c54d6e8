import type { Finding } from '../store/finding.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import type { Budget } from './budget.ts'
import { finding } from './catalogue.ts'
import { isForbidden } from './refusal.ts'
import { wordsOf } from './words.ts'

/** How long a notifier may take to listen, or to report why it cannot, in milliseconds. */
const listensWithinMs = 4_000
/** How long the news of a release may take, in milliseconds. */
const newsWithinMs = 2_000

/** One subscription, for as long as a check needs it. */
export interface Hearing {
  /** Why the notifier hears nothing; undefined if it listens. */
  readonly disconnected: Finding | undefined
  /** The number of signals so far. */
  readonly signals: number
  /** Waits for a signal beyond the `seen` ones. Resolves with whether it came. */
  next(seen: number): Promise<boolean>
  close(): void
}

/** Listens for one lock. A notifier that reports why it cannot is believed. */
export async function listen(
  notifier: ReleaseNotifier,
  key: string,
  cursor: string,
  prefix: string | undefined,
  budget: Budget,
): Promise<Hearing> {
  let cause: unknown
  let onCause: (() => void) | undefined
  const withdraw = notifier.onStateChange((state) => {
    cause = state.type === 'disconnected' ? state.cause : undefined
    if (cause !== undefined) onCause?.()
  })
  const subscription = notifier.subscribe(key, cursor)
  const close = (): void => {
    subscription.close()
    withdraw()
  }
  try {
    await budget.hears(listensWithinMs, (heard) => {
      onCause = heard
      subscription.ready.then(
        () => subscription.live && heard(),
        () => undefined,
      )
      if (cause !== undefined) heard()
      return () => undefined
    })
  } catch (error: unknown) {
    close()
    throw error
  }
  return {
    disconnected: subscription.live ? undefined : disconnection(wordsOf(cause), prefix),
    get signals() {
      return subscription.signals
    },
    next: (seen) => budget.hears(newsWithinMs, (heard) => subscription.onSignal(seen, heard)),
    close,
  }
}

function disconnection(words: string, prefix: string | undefined): Finding {
  if (/has the prefix/.test(words)) return finding('PREFIX_MISMATCH', words)
  if (isForbidden(words)) {
    const code = /channel/.test(words) ? 'CHANNELS_FORBIDDEN' : 'LISTEN_FORBIDDEN'
    return finding(code, `The user may not hear releases: ${words}`, prefix)
  }
  const why = words || `it does not listen after ${listensWithinMs / 1_000} s`
  return finding('NOT_LISTENING', `The notifier hears no releases, so waiters check by themselves: ${why}`)
}

/** A release was announced, but the notifier, although listening, did not hear it. */
export const unheard = (): Finding =>
  finding('NOT_HEARD', `The notifier did not hear of a release within ${newsWithinMs / 1_000} s`)
