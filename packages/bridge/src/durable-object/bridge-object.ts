import { InvalidOptionError } from '@leasehold/core'
import { Hono } from 'hono'
import { ProblemError, problem } from '../server/problem.ts'
import type { BridgeObjectSettings } from './bridge-settings.ts'
import { type OpenBridge, openBridge } from './open-bridge.ts'

/** A Durable Object that answers what `docs/bridge-protocol.md` says. */
export interface BridgeObject {
  fetch(request: Request): Promise<Response>
  /** What Cloudflare's types know a Durable Object by. There is no such value. */
  readonly __DURABLE_OBJECT_BRAND: never
}

export type BridgeObjectClass<Env> = new (state: unknown, env: Env) => BridgeObject

/**
 * Makes the class of a Durable Object that is a bridge, to be exported from a Worker:
 *
 *     export class Bridge extends bridgeObject((env: Env) => ({ redisUrl: env.REDIS_URL, auth: { tokens: [env.TOKEN] } })) {}
 *
 * All who wait share its two connections to Redis, one that listens and one for checks. The first request that needs them
 * opens them, they are opened anew for as long as anybody waits, and they are closed `lingerMs` after the last request or
 * stream that did. A request that is not let in opens nothing and keeps nothing open; `/readyz` asks for a credential too.
 * It stores nothing: an object that is evicted, moved or replaced costs those who wait a reconnection.
 *
 * While a setting is missing or bad, every request is answered by a 500 that names it, and nothing is connected.
 *
 * @param settings called with the Worker's `env` by the first request, and by the first after connections were closed. What it throws by
 *   itself is not answered, but fails the request, and is in the Worker's log.
 */
export function bridgeObject<Env>(settings: (env: Env) => BridgeObjectSettings): BridgeObjectClass<Env> {
  return class implements BridgeObject {
    declare readonly __DURABLE_OBJECT_BRAND: never
    readonly #env: Env
    #open: OpenBridge | undefined

    constructor(_state: unknown, env: Env) {
      this.#env = env
    }

    async fetch(request: Request): Promise<Response> {
      try {
        this.#open ??= openBridge(settings(this.#env), () => {
          this.#open = undefined
        })
      } catch (error) {
        if (error instanceof InvalidOptionError) return notSetUp(error).fetch(request)
        throw error
      }
      return this.#open.fetch(request)
    }
  }
}

const notSetUp = ({ message }: InvalidOptionError): Hono =>
  new Hono().all('*', (c) => problem(c, new ProblemError(500, `The bridge is not set up. ${message}`)))
