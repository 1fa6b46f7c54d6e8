/**
 * The parts of the platform that are used. Declared here, so that users need not have the same version of Cloudflare's
 * types.
 */
declare module 'cloudflare:workers' {
  export class DurableObject<Env = unknown> {
    readonly ctx: import('./storage.ts').ObjectContext
    readonly env: Env
    constructor(ctx: import('./storage.ts').ObjectContext, env: Env)
  }
  /** A value that a method returns by reference: the caller gets a stub of it. */
  export class RpcTarget {}
}
