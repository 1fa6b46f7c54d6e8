import { Redis, type RedisOptions } from 'ioredis'
import { UnansweredError } from '../gateway/index.ts'
import { firstConnect } from './first-connect.ts'

export interface ConnectionOptions {
  /** How long connecting and each answer may take before the connection is dropped, in milliseconds. */
  readonly unansweredMs: number
  /** Called for each change of the connection's state. */
  readonly onChange?: (change: ConnectionChange) => void
}

/** `reason` is a sentence, without credentials. */
export type ConnectionChange = { readonly connected: true } | { readonly connected: false; readonly reason: string }

/** The longest pause between attempts to connect, in milliseconds: a Redis that is back should be found soon. */
const longestRetryMs = 1_000

/**
 * One connection to Redis without an offline queue: a command is written at once or refused, and never sent again. It
 * connects when it is first needed, and reconnects whenever it is lost.
 */
export class IoredisConnection {
  readonly redis: Redis
  readonly unansweredMs: number
  /** Whether a command would be written at once. */
  #ready = false
  readonly #waiting = new Set<() => void>()
  #problem = 'the connection was closed'
  #closing = false

  constructor(url: string, { unansweredMs, onChange = () => undefined }: ConnectionOptions) {
    const options = {
      lazyConnect: true,
      // The reply shapes of the REST protocol, and integers as text with all their digits.
      protocol: 2,
      stringNumbers: true,
      // When the connection breaks, pending commands fail at once. Without `maxRetriesPerRequest: 0`, ioredis would neither
      // send them again nor ever settle them (redis/ioredis#2193).
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      retryStrategy: (times: number) => Math.min(50 * times, longestRetryMs),
      connectTimeout: unansweredMs,
      // If the server hangs, written but unanswered commands are dropped with the connection. Later ones wait for the
      // next connection instead of piling up on this one.
      socketTimeout: unansweredMs,
      // Closing does not wait.
      disconnectTimeout: 0,
    } satisfies RedisOptions
    this.unansweredMs = unansweredMs
    this.redis = new Redis(url, options)
    this.redis.on('ready', () => {
      this.#ready = true
      onChange({ connected: true })
      for (const wake of [...this.#waiting]) wake()
    })
    this.redis.on('close', () => {
      if (this.#ready && !this.#closing) onChange({ connected: false, reason: this.#problem })
      this.#ready = false
      this.#problem = 'the connection was closed'
    })
    this.redis.on('error', (error: Error) => {
      // ioredis's parser throws a RangeError, because it recurses for nested arrays.
      this.#problem = error instanceof RangeError ? 'a reply nests too deep to be read' : error.message
    })
  }

  get isReady(): boolean {
    return this.#ready && this.redis.status === 'ready' && this.redis.stream.writable
  }

  /** Connects for the first time. @throws Error that says why it cannot. */
  async open(): Promise<void> {
    await firstConnect(this.redis)
  }

  /** Resolves when the connection is ready. @throws UnansweredError if the signal is aborted first. */
  async whenReady(signal: AbortSignal): Promise<void> {
    while (!this.isReady) {
      if (signal.aborted || this.redis.status === 'end') throw new UnansweredError('no')
      if (this.redis.status === 'wait') this.redis.connect().catch(() => undefined)
      await this.#change(signal)
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      signal.addEventListener('abort', done)
    })
  }

  close(): void {
    this.#closing = true
    this.redis.disconnect()
    for (const wake of [...this.#waiting]) wake()
  }
}
