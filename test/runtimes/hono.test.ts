import { describe, expect } from 'vitest'
import { startTestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { claims } from '../../packages/hono/test/served-app.ts'
import { startWorker } from './worker.ts'

describe('in workerd, over HTTP', () => {
  claims(async () => {
    const gateway = await startTestGateway()
    const access = { url: gateway.url, token }
    const worker = await startWorker({ entry: 'hono.ts', flags: ['enable_request_signal'], gateway: access })
    return {
      url: worker.url,
      asClient(path) {
        const answer = worker.ask(`/as-client?path=${encodeURIComponent(path)}`)
        return async () => {
          worker.gates.open(`leave${path}`)
          expect(await answer).toMatchObject({ status: 200, body: 'left' })
        }
      },
      gates: worker.gates,
      redis: gateway.server,
      async [Symbol.asyncDispose]() {
        await worker[Symbol.asyncDispose]()
        await gateway[Symbol.asyncDispose]()
      },
    }
  })
})
