import { systemClock } from '@leasehold/core'
import type { BridgeOptions } from '../server/bridge-options.ts'
import { bridgeApp } from '../server/create-bridge.ts'
import { type BridgeObjectSettings, checkSettings } from './bridge-settings.ts'

/** The bridge's ports to one Redis, over any client library. */
export interface RedisConnection extends Pick<BridgeOptions, 'store' | 'subscriber'> {
  /**
   * Ends the connection for checks, and its attempts to connect. The subscriber's user ends the subscriber's
   * connection.
   */
  close(): void
}

/** Does no I/O. */
export type ConnectRedis = (url: string, prefix: string) => RedisConnection

/** A bridge whose connections to Redis are opened on demand. It lasts until nobody has needed them for a while. */
export interface OpenBridge {
  fetch(request: Request): Promise<Response>
}

/**
 * Makes a bridge, which connects when the first admitted request needs Redis.
 *
 * States: *unused* → *used* ⇄ *lingering* → *left*: new requests go to another bridge, but earlier ones may still be
 * let in → *closed*, when the last of these has ended.
 *
 * @param onLeft called once; after that, send no more requests to this bridge
 * @throws InvalidOptionError naming the setting.
 */
export function openBridge(given: BridgeObjectSettings, connectRedis: ConnectRedis, onLeft: () => void): OpenBridge {
  const { redisUrl, lingerMs, ...options } = checkSettings(given)
  const redis = connectRedis(redisUrl, options.prefix)
  const stopping = new AbortController()
  /** How many requests are in flight, and how many requests and streams need Redis. */
  const open = { requests: 0, needing: 0 }
  let stopLinger: (() => void) | undefined
  let left = false

  function needsRedis(): () => void {
    open.needing++
    stopLinger?.()
    return () => {
      open.needing--
      if (open.needing === 0 && !left) stopLinger = systemClock.schedule(leave, lingerMs, 'background')
      closeIfDone()
    }
  }
  function leave(): void {
    left = true
    onLeft()
    closeIfDone()
  }
  function closeIfDone(): void {
    if (!left || open.requests + open.needing > 0) return
    stopping.abort()
    redis.close()
  }

  const app = bridgeApp({ ...options, ...redis, signal: stopping.signal }, { needsRedis, guardsReadiness: true })
  return {
    async fetch(request) {
      open.requests++
      try {
        return await app.fetch(request)
      } finally {
        open.requests--
        closeIfDone()
      }
    },
  }
}
