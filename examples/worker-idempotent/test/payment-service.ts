import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

/** Stands in for what the Worker calls: a payment service, and whatever keeps statements and settlements. */
export interface PaymentService extends AsyncDisposable {
  readonly url: string
  /** The idempotency key of every payment made. Unlike a real service, it pays each time it is asked. */
  readonly payments: readonly string[]
  /** Every statement and settlement written, by its path, with the fence of its last writer. */
  readonly documents: ReadonlyMap<string, { readonly fence: number; readonly writes: number }>
  /** From now on a repeated key causes no new payment, as with a real service: it gets the first answer. */
  refuseRepeats(): void
  /** Holds every request, and resolves when this many wait. `release` lets them go. */
  gather(count: number): { readonly gathered: Promise<void>; release(): void }
  /** From now on each payment takes this long until it is answered, in milliseconds. */
  take(msOf: () => number): void
  /** Answers the next payment with this status, and pays nothing. */
  failNext(status: number): void
}

export async function startPaymentService(port = 0): Promise<PaymentService> {
  const payments: string[] = []
  const documents = new Map<string, { fence: number; writes: number }>()
  const failures: number[] = []
  let refusesRepeats = false
  let arrivals = 0
  let gate = Promise.resolve()
  let takesMs = (): number => 0
  let onArrival = (): void => undefined

  async function pay(key: string, body: string): Promise<[status: number, answer: object]> {
    const { amount, currency } = JSON.parse(body) as Record<string, unknown>
    const failure = failures.shift()
    if (failure !== undefined) return [failure, {}]
    const place = refusesRepeats ? payments.indexOf(key) + 1 : 0
    const id = `pay-${place || payments.push(key)}`
    await arrived()
    return [201, { id, amount, currency, status: 'paid' }]
  }

  async function write(path: string, fence: number): Promise<[status: number, answer: object]> {
    await arrived()
    const { fence: last = 0, writes = 0 } = documents.get(path) ?? {}
    if (fence < last) return [409, { last }]
    documents.set(path, { fence, writes: writes + 1 })
    return [200, { fence }]
  }

  async function arrived(): Promise<void> {
    arrivals++
    onArrival()
    await gate
    await sleep(takesMs())
  }

  const server = createServer(async (request, response) => {
    const { method, url = '', headers } = request
    const body = await text(request)
    const [status, answer] =
      method === 'PUT'
        ? await write(url, Number(headers['leasehold-fence']))
        : await pay(String(headers['idempotency-key']), body)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    payments,
    documents,
    refuseRepeats() {
      refusesRepeats = true
    },
    take(msOf) {
      takesMs = msOf
    },
    failNext: (status) => void failures.push(status),
    gather(count) {
      const waiting = Promise.withResolvers<void>()
      const open = Promise.withResolvers<void>()
      const all = arrivals + count
      onArrival = () => arrivals >= all && waiting.resolve()
      gate = open.promise
      return { gathered: waiting.promise, release: open.resolve }
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
