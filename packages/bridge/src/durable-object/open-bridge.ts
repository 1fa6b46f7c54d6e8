import { systemClock } from '@leasehold/core'
import { type BridgeEvent, createBridge } from '../server/index.ts'
import { type BridgeObjectSettings, checkSettings } from './bridge-settings.ts'
import { redisConnection } from './redis-connection.ts'

/** A bridge that has connections to Redis, or is about to: from a first request until nobody has waited for a while. */
export interface OpenBridge {
  fetch(request: Request): Promise<Response>
}

/**
 * Makes a bridge, which connects when a request needs it.
 *
 * @param onClose called once, when it has closed its connections; it must not be asked any more
 * @throws InvalidOptionError naming the setting.
 */
export function openBridge(given: BridgeObjectSettings, onClose: () => void): OpenBridge {
  const { redisUrl, lingerMs, onEvent, ...options } = checkSettings(given)
  const redis = redisConnection(redisUrl, options.prefix)
  const stopping = new AbortController()
  const open = { requests: 0, streams: 0 }
  let stopLinger: (() => void) | undefined

  const app = createBridge({
    ...options,
    ...redis,
    signal: stopping.signal,
    onEvent(event: BridgeEvent) {
      if (event.type === 'streams') {
        open.streams = event.open
        rest()
      }
      onEvent?.(event)
    },
  })

  function rest(): void {
    stopLinger?.()
    stopLinger = open.requests + open.streams === 0 ? systemClock.schedule(close, lingerMs, 'background') : undefined
  }
  function close(): void {
    stopping.abort()
    redis.close()
    onClose()
  }
  return {
    async fetch(request) {
      open.requests++
      rest()
      try {
        return await app.fetch(request)
      } finally {
        open.requests--
        rest()
      }
    },
  }
}
