import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    readonly gatewayUrl: string
    readonly gatewayToken: string
  }
}

/**
 * Starts what the tests inside workerd talk to. In a separate process, because the modules of this one are resolved as
 * for a Worker, where a Redis client for Node does not work.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const gateway = fork(fileURLToPath(new URL('gateway-worker.ts', import.meta.url)))
  const ended = once(gateway, 'exit').then(([code]) => Promise.reject(new Error(`The gateway ended with ${code}`)))
  const started = once(gateway, 'message') as Promise<[{ readonly url: string; readonly token: string }]>
  const [{ url, token }] = await Promise.race([started, ended])
  project.provide('gatewayUrl', url)
  project.provide('gatewayToken', token)
  return async () => {
    gateway.disconnect()
    await ended.catch(() => undefined)
  }
}
