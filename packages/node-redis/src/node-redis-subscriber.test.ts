import { expect, it } from 'vitest'
import type { NodeRedisClient } from './node-redis-client.ts'
import { nodeRedisSubscriber } from './node-redis-subscriber.ts'

const never = (): Promise<never> => new Promise(() => undefined)
const listener = { message: () => undefined, lost: () => undefined }
const shape = { isOpen: true, isReady: true, sendCommand: never }

it.each([
  ['a node of a cluster', { ...shape, masters: [{ address: '127.0.0.1:1' }], nodeClient: never }],
  ['the primary that sentinels know', { ...shape, getMasterNode: () => undefined, _execute: never }],
])('an attempt ends with its signal while its client waits for %s', async (_, client) => {
  const controller = new AbortController()
  const connecting = nodeRedisSubscriber(client as unknown as NodeRedisClient).connect(listener, controller.signal)
  const reason = new Error('enough')
  controller.abort(reason)
  await expect(connecting).rejects.toBe(reason)
})
