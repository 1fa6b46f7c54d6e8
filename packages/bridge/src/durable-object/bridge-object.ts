import { InvalidOptionError } from '@leasehold/core'
import { Hono } from 'hono'
import { ProblemError, problem } from '../server/problem.ts'
import type { BridgeObjectSettings } from './bridge-settings.ts'
import { type ConnectRedis, type OpenBridge, openBridge } from './open-bridge.ts'

/** A Durable Object that speaks the bridge protocol. */
export interface BridgeObject {
  fetch(request: Request): Promise<Response>
  /** The brand by which Cloudflare's types recognize a Durable Object. It has no value at run time. */
  readonly __DURABLE_OBJECT_BRAND: never
}

export type BridgeObjectClass<Env> = new (state: unknown, env: Env) => BridgeObject

/** Makes the class of a Durable Object that is a bridge, over any connection to Redis. See `bridgeObject`. */
export function bridgeObjectClass<Env>(
  connectRedis: ConnectRedis,
  settings: (env: Env) => BridgeObjectSettings,
): BridgeObjectClass<Env> {
  return class implements BridgeObject {
    declare readonly __DURABLE_OBJECT_BRAND: never
    readonly #env: Env
    #open: OpenBridge | undefined

    constructor(_state: unknown, env: Env) {
      this.#env = env
    }

    async fetch(request: Request): Promise<Response> {
      try {
        this.#open ??= openBridge(settings(this.#env), connectRedis, () => {
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
