import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Stands in for a payment service. Unlike a real one, it pays each time it is asked, and remembers every payment. */
export interface PaymentService extends AsyncDisposable {
  readonly url: string
  /** The idempotency key of every payment made. */
  readonly payments: readonly string[]
  /** Holds every payment, and resolves when this many wait. `release` lets them go. */
  gather(count: number): { readonly gathered: Promise<void>; release(): void }
  /** Answers the next request with this status, and pays nothing. */
  failNext(status: number): void
}

export async function startPaymentService(port = 0): Promise<PaymentService> {
  const payments: string[] = []
  const failures: number[] = []
  let gate = Promise.resolve()
  let onArrival = (): void => undefined

  const server = createServer(async (request, response) => {
    const { amount, currency } = JSON.parse(await text(request)) as Record<string, unknown>
    response.setHeader('content-type', 'application/json')
    const failure = failures.shift()
    if (failure !== undefined) return void response.writeHead(failure).end('{}')
    const id = `pay-${payments.push(String(request.headers['idempotency-key']))}`
    onArrival()
    await gate
    response.writeHead(201).end(JSON.stringify({ id, amount, currency, status: 'paid' }))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    payments,
    failNext: (status) => void failures.push(status),
    gather(count) {
      const arrived = Promise.withResolvers<void>()
      const open = Promise.withResolvers<void>()
      const all = payments.length + count
      onArrival = () => payments.length >= all && arrived.resolve()
      gate = open.promise
      return { gathered: arrived.promise, release: open.resolve }
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

if (import.meta.main) {
  const { url } = await startPaymentService(Number(process.argv[2]))
  console.log(`A stand-in for a payment service listens on ${url}`)
}
