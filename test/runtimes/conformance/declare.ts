/** What a client gets: one Redis, over TCP and over HTTP. */
export interface Servers {
  readonly redis: Address
  readonly gateway: { readonly url: string; readonly token: string }
  /** Another way to the Redis. Requests to `/accept` and `/refuse` at its URL open and close it. */
  readonly link: Address & { readonly url: string }
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** Declares the claims about a client, which is the exports of its module. */
export type Declare = (servers: Servers, client: unknown) => void

/** The options with which each store is opened. */
export const storeOptions = { prefix: 'conformance:', fenceMemory: '3s' } as const

/** Side by side, since claims about a store on a real server mostly wait. */
export const sideBySide = { concurrent: true }
