import { AsyncLocalStorage } from 'node:async_hooks'
import { ManualClock } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { bridgeNotifier } from './index.ts'

const tenant = new AsyncLocalStorage<string>()

/** As a real timer does, one goes on in the context in which it was armed. */
class BindingClock extends ManualClock {
  override schedule(callback: () => void, delayMs: number, mode?: 'background'): () => void {
    return super.schedule(AsyncLocalStorage.bind(callback), delayMs, mode)
  }
}

it.each(['sse', 'long-poll'] as const)(
  'a connection (%s) belongs to none of the requests that wait by it: it is opened where the notifier was made',
  async (mode) => {
    const clock = new BindingClock()
    const seen: (string | undefined)[] = []
    const fetch = (): Promise<never> => {
      seen.push(tenant.getStore())
      return new Promise(() => undefined)
    }
    const notifier = tenant.run('the notifier’s own', () =>
      bridgeNotifier({ url: 'http://127.0.0.1', token: 'x'.repeat(32), mode, clock, fetch }),
    )
    tenant.run('a request', () => notifier.subscribe('k', '1'))
    await clock.advance(100)
    expect(seen).toEqual(['the notifier’s own'])
    await notifier.close()
  },
)
