import { describe } from 'vitest'
import { notifierClaims } from '../../../test/support/notifier-claims.ts'
import { close, soak, type TestClient, tested } from '../test/clients.ts'
import { nodeRedisNotifier } from './node-redis-notifier.ts'
import { nodeRedisStore } from './node-redis-store.ts'

describe.each(tested)('nodeRedisNotifier over $name', ({ create }) => {
  notifierClaims<TestClient>(
    {
      create(port, user) {
        const client = create({ socket: { host: '127.0.0.1', port, reconnectStrategy: 20 }, ...user })
        client.on('error', () => undefined)
        return client
      },
      connect: (client) => client.connect(),
      close,
      notifier: nodeRedisNotifier,
      store: nodeRedisStore,
    },
    soak,
  )
})
