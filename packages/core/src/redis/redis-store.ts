import { makings } from '#process-state'
import { demandObject, refuseUnknown } from '../errors.ts'
import type {
  AcquireRequest,
  CheckOutcome,
  LeaseStore,
  Refused,
  ReleaseRequest,
  RenewRequest,
  RevokeOutcome,
  Unknown,
} from '../store/lease-store.ts'
import { parseToken } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { keyLayout } from './keys.ts'
import type { RedisTransport } from './redis-transport.ts'
import {
  acquireOutcome,
  type Holding,
  holding,
  notALock,
  releaseOutcome,
  renewOutcome,
  revokeOutcome,
  unsent,
} from './replies.ts'
import { runScript } from './run-script.ts'
import { acquire } from './scripts/generated/acquire.ts'
import { read } from './scripts/generated/read.ts'
import { release } from './scripts/generated/release.ts'
import { renew } from './scripts/generated/renew.ts'

export const defaultFenceMemory = '10m'

export interface RedisStoreOptions {
  /** The text that every key begins with; default `lock:`. The notifier and the bridge need the same prefix. */
  readonly prefix?: string | undefined
  /**
   * How long a fence record is kept after the last grant or renewal, unless the ttl is longer; default 10 minutes.
   * During that time fences rise even if the server's clock is set back. See `docs/guarantees.md`.
   */
  readonly fenceMemory?: Duration | undefined
}

/**
 * Makes a store that keeps leases as plain Redis strings with an expiry. It needs Redis 6.2 or later, or Valkey, with
 * permission for the keys `<prefix>*` and `{*` and for publishing to `<prefix>release:*`.
 *
 * Each call is one command, however many requests it has. On a cluster it is one command per hash tag, sent together.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store: redisStore(transport, { prefix: 'app:' }) })
 * ```
 *
 * @throws InvalidOptionError for an unknown option, or a bad `prefix` or `fenceMemory`
 */
export function redisStore(transport: RedisTransport, options: RedisStoreOptions = {}): LeaseStore {
  demandObject(options)
  const { prefix, fenceMemory = defaultFenceMemory, ...rest } = options
  refuseUnknown(rest)
  const keys = keyLayout(prefix)
  const memory = String(parseDuration('fenceMemory', fenceMemory))
  const released = releaseOutcome(transport)

  const wish = ({ key, acquisitionId, ttlMs, fences }: AcquireRequest): [string, string, string, string, string] => [
    keys.lock(key),
    keys.fence(key),
    acquisitionId,
    String(ttlMs),
    String(fences),
  ]
  const extension = ({ key, token, ttlMs }: RenewRequest): [string, string, string, string] => [
    keys.lock(key),
    keys.fence(key),
    token,
    String(ttlMs),
  ]
  const ending = (request: ReleaseRequest): [string, string, string, string] => [
    keys.lock(request.key),
    keys.fence(request.key),
    'token' in request ? request.token : request.acquisitionId,
    keys.releaseChannel(request.key),
  ]

  async function stored(
    part: 'fence' | 'value',
    requests: readonly { readonly key: string }[],
    call: CallDeadline,
  ): Promise<readonly (Holding | Unknown | Refused)[]> {
    return runScript(transport, read, [part], 1, requests, ({ key }) => [keys.lock(key)], holding, call)
  }
  const storedValue = async (key: string, call: CallDeadline): Promise<Holding | Unknown | Refused> =>
    (await stored('value', [{ key }], call))[0] as Holding

  const store: LeaseStore = {
    commandDeadlineMs: transport.commandDeadlineMs,
    prefix: keys.prefix,
    inNextWrite: transport.inNextWrite,
    nodeOf: (key) => transport.nodeOf(keys.lock(key)),
    whenReady: (key, call) => transport.whenReady(keys.lock(key), call)?.then((reply) => reply && unsent(reply)),

    acquire: (requests, call) => runScript(transport, acquire, [memory], 2, requests, wish, acquireOutcome, call),
    renew: (requests, call) => runScript(transport, renew, [memory], 2, requests, extension, renewOutcome, call),
    release: (requests, call) => runScript(transport, release, ['released'], 2, requests, ending, released, call),

    checkHolders: async (requests, call) => (await stored('fence', requests, call)).map(checked),

    async inspect(key, call) {
      const lock = await storedValue(key, call)
      if (lock.type === 'free') return { type: 'state', state: { held: false } }
      if (lock.type === 'other') return notALock()
      if (lock.type !== 'held') return lock
      const { name = null, fence = null } = parseToken(lock.value) ?? {}
      // A fence is the server's time when it was minted, in microseconds.
      const since = fence === null ? null : new Date(fence / 1000)
      return { type: 'state', state: { held: true, holder: name, fence, since, expiresInMs: lock.expiresInMs } }
    },

    async revoke(key, call) {
      const lock = await storedValue(key, call)
      if (!('value' in lock)) return lock
      // By the value just read, so that a client that sends the command again cannot hit a successor.
      const requests = [{ key, token: lock.value }]
      const [outcome] = await runScript(transport, release, ['revoked'], 2, requests, ending, revokeOutcome, call)
      return outcome as RevokeOutcome
    },
  }
  makings.set(store, [transport, memory])
  return store
}

/** The outcome of a check. A value that is not a lock but is in the way of one has no fence. */
function checked(lock: Holding | Unknown | Refused): CheckOutcome {
  if (lock.type === 'free') return { type: 'checked', changed: true, cursor: '-', expiresInMs: null }
  if (!('value' in lock)) return lock
  const { type, value, expiresInMs } = lock
  return { type: 'checked', changed: false, cursor: type === 'held' ? value : '-', expiresInMs }
}
