import { env, waitUntil } from 'cloudflare:workers'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { createLocker } from '@leasehold/core'
import type { ReleaseNotifier } from '@leasehold/core/adapter'
import { fetchStore } from '@leasehold/upstash'

/** The store of the locks and records: Redis over HTTP. */
export const store = fetchStore({ url: env.REDIS_URL, token: env.REDIS_TOKEN })

// At module scope: creating these sends nothing, and requests share no timer and no promise through them.
export const locks = createLocker({
  store,
  notifier: wakeUps(),
  name: 'payments',
  // The client may leave. A payment that has begun continues and is recorded, so that a retry finds its answer. And if
  // the store does not answer, the locker may have a grant, which it releases after our answer.
  waitUntil,
})

/** Waiters wake through the bridge if there is one, and poll otherwise. */
function wakeUps(): ReleaseNotifier | undefined {
  const { BRIDGE_URL: url, BRIDGE_TOKEN: token } = env
  if (!url || !token) return undefined
  // With a wrong token, waiters poll. That costs commands and throws no error, so it has to be reported.
  const onError = ({ message }: Error): void => console.error(message)
  return bridgeNotifier({ url, token, onError })
}
