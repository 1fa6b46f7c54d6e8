import { plainError, type SubscriberConnection, type SubscriberListener } from '@leasehold/core/redis'
import { unlessAborted } from './unless-aborted.ts'

/** The parts of a listening connection that we use. */
export interface ListeningConnection {
  readonly isOpen: boolean
  connect(): Promise<unknown>
  /** Missing in node-redis 4. */
  destroy?(): unknown
  disconnect(): unknown
  subscribe(channels: string[], listener: MessageListener): Promise<unknown>
  unsubscribe(channels: string[], listener: MessageListener): Promise<unknown>
  pSubscribe(pattern: string, listener: MessageListener): Promise<unknown>
  on(event: 'connect' | 'end', listener: () => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
}

type MessageListener = (payload: string, channel: string) => void

/** A channel that nobody subscribes to. */
const nobody = 'leasehold:nobody'

/** States: *connecting* → *open* → *lost*, reported once to the listener, or *closed* by the user, not reported. */
export class Listening implements SubscriberConnection {
  readonly #connection: ListeningConnection
  readonly #listener: SubscriberListener
  readonly #onMessage: MessageListener
  /** The subscriptions that the server has confirmed. */
  readonly #subscribed = new Set<string>()
  #isOpen = false
  #isEnded = false
  /** Whether the connection can be closed. While connecting, the client would forget that it was asked to close. */
  #canEnd = false
  /** Why the connection failed. */
  #lastError: unknown

  constructor(connection: ListeningConnection, listener: SubscriberListener) {
    this.#connection = connection
    this.#listener = listener
    this.#onMessage = (payload, channel) => listener.message(channel, payload)
    connection.on('connect', () => {
      this.#canEnd = true
      if (this.#isEnded) this.#end()
    })
    connection.on('error', (error) => this.#lose(error))
    connection.on('end', () => this.#lose())
  }

  async open(signal: AbortSignal): Promise<void> {
    try {
      signal.throwIfAborted()
      await unlessAborted(this.#connection.connect(), signal)
      this.#isOpen = true
    } catch (error: unknown) {
      this.close()
      throw signal.aborted ? error : plainError(this.#lastError ?? error)
    }
  }

  /**
   * The client does not ask the server for a channel that it has subscribed to already. Instead it unsubscribes from a
   * channel that nobody subscribes to, which needs no permission beyond that of unsubscribing from any channel.
   */
  async subscribe(channels: readonly string[]): Promise<void> {
    const added = channels.filter((channel) => !this.#subscribed.has(channel))
    if (added.length === 0) await this.#ask()
    else await this.#answer(this.#connection.subscribe(added, this.#onMessage), added)
  }

  async unsubscribe(channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#subscribed.delete(channel)
    await this.#answer(this.#connection.unsubscribe([...channels], this.#onMessage))
  }

  async psubscribe(pattern: string): Promise<void> {
    if (this.#subscribed.has(`pattern ${pattern}`)) await this.#ask()
    else await this.#answer(this.#connection.pSubscribe(pattern, this.#onMessage), [`pattern ${pattern}`])
  }

  close(): void {
    this.#isEnded = true
    if (this.#canEnd) this.#end()
  }

  async #ask(): Promise<void> {
    try {
      await this.#connection.unsubscribe([nobody], this.#onMessage)
    } catch (error: unknown) {
      // A refusal to unsubscribe is an answer, too.
      if (this.#isEnded || !/^NOPERM/.test(String((error as Error).message))) throw plainError(error)
    }
  }

  async #answer(command: Promise<unknown>, subscribed: readonly string[] = []): Promise<void> {
    try {
      await command
      for (const name of subscribed) this.#subscribed.add(name)
    } catch (error: unknown) {
      if (!this.#connection.isOpen) this.#lose(error)
      throw plainError(error)
    }
  }

  #lose(error?: unknown): void {
    this.#lastError = error ?? this.#lastError
    // The attempt to connect fails with this error.
    if (this.#isEnded || !this.#isOpen) return
    this.#isEnded = true
    this.#listener.lost(this.#lastError && plainError(this.#lastError))
    this.#end()
  }

  #end(): void {
    const { destroy, disconnect } = this.#connection
    // If the connection has been closed already, this throws or rejects.
    const end = async (): Promise<unknown> => (destroy ?? disconnect).call(this.#connection)
    end().catch(() => undefined)
  }
}
