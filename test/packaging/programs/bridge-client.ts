import { type BridgeFetch, bridgeNotifier } from '@leasehold/bridge-client'
import { createLocker, InvalidOptionError } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

/** A waiter that only the bridge wakes in time. */
export async function main(servers: {
  readonly gateway: string
  readonly bridge: string
  readonly token: string
}): Promise<string> {
  const { gateway, bridge, token } = servers
  let answered = (): void => undefined
  const listening = new Promise<void>((resolve) => {
    answered = resolve
  })
  const throughFetch: BridgeFetch = async (url, request) => {
    const answer = await fetch(url, request)
    answered()
    return answer
  }
  const store = fetchStore({ url: gateway, token })
  const notifier = bridgeNotifier({ url: bridge, token, fetch: throughFetch })
  const holder = createLocker({ store })
  const waiter = createLocker({ store, notifier, recheck: '1h' })
  const lease = await holder.acquire('bridged')
  const waiting = waiter.acquire('bridged', { wait: '20s', strategy: { delayMs: () => 3_600_000 } })
  await listening
  await lease.release()
  const second = await waiting
  await second.release()
  await waiter.close()
  try {
    bridgeNotifier({ url: '', token })
  } catch (error) {
    if (error instanceof InvalidOptionError) return `${second.fence > lease.fence} ${error.option}`
  }
  return 'no error'
}
