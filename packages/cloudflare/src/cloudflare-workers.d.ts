/** What is used of the platform. Declared here, so that users need not have Cloudflare's types of the same version. */
declare module 'cloudflare:workers' {
  export class DurableObject<Env = unknown> {
    readonly ctx: import('./storage.ts').ObjectContext
    readonly env: Env
    constructor(ctx: import('./storage.ts').ObjectContext, env: Env)
  }
  /** What a method returns by reference: the caller gets a stub of it. */
  export class RpcTarget {}
}
