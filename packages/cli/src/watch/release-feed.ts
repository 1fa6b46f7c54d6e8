import { keyLayout, releasePattern } from '@leasehold/core/adapter'
import type { ListedLock } from '@leasehold/core/listing'
import type { RedisSubscriber } from '@leasehold/core/redis'
import type { Ending } from './lock-changes.ts'
import { pause } from './pause.ts'

/** How long an ending is remembered, in milliseconds: several looks. */
const rememberedMs = 60_000
/** The pause before listening again after a lost connection, in milliseconds. */
const pauseMs = 1_000

/** Hears how leases end. */
export class ReleaseFeed {
  readonly #prefix: string
  readonly #onRelease: (key: string) => void
  readonly #ended: Map<string, { readonly key: string; readonly how: Ending; readonly atMs: number }> = new Map()
  #since: number | undefined
  /** Why the last attempt to listen failed; undefined once an attempt succeeds. */
  trouble: string | undefined
  /** Resolves once it listens, or has failed for the first time. */
  readonly tried: Promise<void>
  #hasTried: () => void = () => undefined

  constructor(prefix: string, onRelease: (key: string) => void) {
    this.#prefix = prefix
    this.#onRelease = onRelease
    this.tried = new Promise((resolve) => {
      this.#hasTried = resolve
    })
  }

  /** Listens until the signal is aborted, and again whenever the connection is lost. Never rejects. */
  async listen(subscriber: RedisSubscriber, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#listenOnce(subscriber, signal)
      } catch (error) {
        this.trouble = error instanceof Error ? error.message : String(error)
      }
      this.#since = undefined
      this.#hasTried()
      await pause(pauseMs, signal)
    }
  }

  /**
   * How a lease of this lock ended that was last seen at `seenAtMs`: undefined if nobody has announced it, `unheard` if
   * the announcement may have been missed. For a lock with several holders, any ending counts.
   */
  endingOf({ key, fence, holders }: ListedLock, seenAtMs: number): Ending | 'unheard' | undefined {
    if (this.#since === undefined || this.#since > seenAtMs) return 'unheard'
    if (holders === 1) return this.#ended.get(leaseOf(key, fence ?? '-'))?.how
    const endings = [...this.#ended.values()].filter((ending) => ending.key === key && ending.atMs >= seenAtMs)
    return endings.at(-1)?.how
  }

  async #listenOnce(subscriber: RedisSubscriber, signal: AbortSignal): Promise<void> {
    const layout = keyLayout(this.#prefix)
    const channels = layout.releaseChannel('')
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const message = (channel: string, payload: string): void => this.#hear(channel.slice(channels.length), payload)
    const connection = await subscriber.connect({ message, lost: end }, signal)
    signal.addEventListener('abort', end)
    try {
      await connection.psubscribe(releasePattern(layout))
      this.trouble = undefined
      this.#since = performance.now()
      this.#hasTried()
      if (!signal.aborted) await ended
    } finally {
      signal.removeEventListener('abort', end)
      connection.close()
    }
  }

  #hear(key: string, payload: string): void {
    const [how, fence = '-'] = payload.split(' ')
    // Turns in a queue are announced on the same channels.
    if (how !== 'released' && how !== 'revoked') return
    const atMs = performance.now()
    for (const [lease, { atMs: heardMs }] of this.#ended) {
      if (atMs - heardMs < rememberedMs) break
      this.#ended.delete(lease)
    }
    this.#ended.set(leaseOf(key, fence), { key, how, atMs })
    this.#onRelease(key)
  }
}

const leaseOf = (key: string, fence: string | number): string => `${fence} ${key}`
