/**
 * The parts of the platform that this Worker uses. In your own project, `wrangler types` generates this, and the rest.
 */
declare module 'cloudflare:workers' {
  export const env: {
    /** An Upstash database, or a `leasehold-gateway` in front of a Redis of your own. */
    readonly REDIS_URL: string
    readonly REDIS_TOKEN: string
    /** A `leasehold-bridge` that listens to the same Redis, and a token for it. Without both, waiters poll. */
    readonly BRIDGE_URL?: string
    readonly BRIDGE_TOKEN?: string
    readonly PAYMENTS_URL: string
    /** The customers who may send requests: `<customer>:<secret>` each, separated by spaces. */
    readonly CUSTOMERS: string
    /** Default: `reject`. */
    readonly IN_DOUBT?: 'reject' | 'rerun'
    readonly WATCHDOG: import('@leasehold/cloudflare').WatchdogNamespace
    readonly STATEMENTS: { send(message: import('./statements.ts').StatementJob): Promise<unknown> }
  }
  /** Keeps the request's work alive after its answer, or its client, is gone: 30 s at most. */
  export function waitUntil(work: Promise<unknown>): void
}

/** A queue's message, as its consumer gets it. */
interface QueueMessage<Body> {
  readonly body: Body
  /** Acknowledges the message: it is not delivered again. */
  ack(): void
  /** Has the message delivered again later. */
  retry(options?: { readonly delaySeconds?: number }): void
}
