/**
 * The parts of the platform that the Worker uses. In your own project, `wrangler types` generates this, and the rest.
 */
declare module 'cloudflare:workers' {
  export const env: {
    /** An Upstash database, or a `leasehold-gateway` in front of a Redis of your own. */
    readonly REDIS_URL: string
    readonly REDIS_TOKEN: string
    /** A `leasehold-bridge` that listens to the same Redis, and a token for it. Without both, waiters poll. */
    readonly BRIDGE_URL?: string
    readonly BRIDGE_TOKEN?: string
    readonly COUPONS: string
  }
  /** Keeps the request's work alive after its answer, or its client, is gone: 30 s at most. */
  export function waitUntil(work: Promise<unknown>): void
}
