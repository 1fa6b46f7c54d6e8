/** What a client is let at: one Redis, by TCP and by HTTP. */
export interface Servers {
  readonly redis: Address
  readonly gateway: { readonly url: string; readonly token: string }
  /** Another way to the Redis. Requests of `/accept` and `/refuse` at its URL open and close it. */
  readonly link: Address & { readonly url: string }
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** Declares the claims about a client, which is what its module exports. */
export type Declare = (servers: Servers, client: unknown) => void

/** How each store is opened, and its prefix. */
export const storeOptions = { prefix: 'conformance:', fenceMemory: '3s' } as const

/** Claims about a store on a real server mostly wait. */
export const sideBySide = { concurrent: true }
