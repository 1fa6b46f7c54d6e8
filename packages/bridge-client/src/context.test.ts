import { AsyncLocalStorage } from 'node:async_hooks'
import { ContextClock } from '@leasehold/testkit'
import { expect, it } from 'vitest'
import { bridgeNotifier } from './index.ts'

const tenant = new AsyncLocalStorage<string>()

it.each(['sse', 'long-poll'] as const)(
  'a connection (%s) belongs to none of the requests that wait by it: it is opened where the notifier was made',
  async (mode) => {
    const clock = new ContextClock()
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
