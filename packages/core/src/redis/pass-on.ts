import type { LeaseStore } from '../store/lease-store.ts'
import { offerPassOn } from '../store/offer-pass-on.ts'
import type { PassOn, PassOnOutcome, PassOnRequest } from '../store/pass-on.ts'
import { parseDuration } from '../timing/duration.ts'
import { keyLayout } from './keys.ts'
import { defaultFenceMemory, type RedisStoreOptions, redisStore } from './redis-store.ts'
import type { RedisTransport, ScriptReply } from './redis-transport.ts'
import { acquireOutcome, releaseOutcome } from './replies.ts'
import { countsSubscribers, runScript } from './run-script.ts'
import { passOn } from './scripts/generated/pass-on.ts'

/**
 * Makes the store of `redisStore`, and lets it pass a lock on: a release that reaches no subscriber grants the lock to
 * the next waiter of the same process, in the same request. That takes a transport that counts every subscriber: one to
 * a single server over TCP. With any other transport this is the same as `redisStore`.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store: passingRedisStore(transport), notifier })
 * ```
 *
 * @throws everything that `redisStore` throws
 */
export function passingRedisStore(transport: RedisTransport, options: RedisStoreOptions = {}): LeaseStore {
  const store = redisStore(transport, options)
  if (!transport.countsSubscribers) return store
  const keys = keyLayout(options.prefix)
  const memory = String(parseDuration('fenceMemory', options.fenceMemory ?? defaultFenceMemory))
  const released = releaseOutcome(transport)

  type Encoded = [string, string, string, string, string, string, string]
  const encode = ({ key, token, acquisitionId, ttlMs, fences }: PassOnRequest): Encoded => [
    keys.lock(key),
    keys.fence(key),
    token,
    keys.releaseChannel(key),
    acquisitionId,
    String(ttlMs),
    String(fences),
  ]

  function decode(reply: ScriptReply): PassOnOutcome {
    if (reply.type !== 'value') return { released: released(reply), granted: undefined }
    const [freed, token] = Array.isArray(reply.value) ? reply.value : []
    const acquired = acquireOutcome({ ...reply, value: token })
    return {
      released: released({ ...reply, value: freed }),
      granted: acquired.type === 'granted' ? acquired : undefined,
    }
  }

  const passed: PassOn = async (request, call) => {
    const [outcome] = await runScript(transport, passOn, [memory], 2, [request], encode, decode, call)
    return outcome as PassOnOutcome
  }
  // A plain client may turn out to talk to a node of a cluster.
  return offerPassOn(store, passed, () => countsSubscribers(transport))
}
