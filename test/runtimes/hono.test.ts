import { describe, expect, test } from 'vitest'
import { startTestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { claims } from '../../packages/hono/test/served-app.ts'
import { startWorker } from './worker.ts'

describe('in workerd, over HTTP', () => {
  let url: string

  test('an answer that the runtime is to compress is compressed once, and so is its replay', async () => {
    const headers = { 'idempotency-key': 'k58', 'x-do': 'gzip-by-the-runtime' }
    const ask = () => fetch(`${url}/once/payments`, { method: 'POST', headers })
    const answers = [await ask(), await ask()]
    const said = answers.map(async (each) => [each.headers.get('content-encoding'), await each.text()])
    expect(await Promise.all(said)).toEqual([
      ['gzip', '1'],
      ['gzip', '1'],
    ])
  })

  claims(async () => {
    const gateway = await startTestGateway()
    const access = { url: gateway.url, token }
    const worker = await startWorker({ entry: 'hono.ts', flags: ['enable_request_signal'], gateway: access })
    url = worker.url
    return {
      url,
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
