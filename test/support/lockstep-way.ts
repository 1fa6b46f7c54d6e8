import { connect, createServer, type Socket } from 'node:net'
import { joinSockets } from './joined-sockets.ts'

/** A way to a Redis on which commands go one at a time: each waits for the reply to the one before. */
export interface LockstepWay extends AsyncDisposable {
  readonly port: number
  /**
   * Counts commands from now on, and cuts the link for good at that point: after so many of them have gone to Redis, or
   * when so many replies have come from it, of which the last is not passed on. Resolves once that has happened.
   */
  cutAfter(what: 'request' | 'reply', count: number): Promise<void>
}

/** A network has no points between commands that leave together: here each is one. For a single RESP2 client. */
export async function lockstepWay(redisPort: number): Promise<LockstepWay> {
  const sockets = new Set<Socket>()
  const passed = { request: 0, reply: 0 }
  let cut: { readonly what: 'request' | 'reply'; readonly count: number; readonly done: () => void } | undefined
  const server = createServer((client) => {
    const redis = connect(redisPort, '127.0.0.1')
    let [requests, replies] = [Buffer.alloc(0), Buffer.alloc(0)]
    let isAwaiting = false
    const next = (): void => {
      const length = isAwaiting ? 0 : endOfValue(requests)
      if (length === 0) return
      isAwaiting = true
      passed.request++
      redis.write(requests.subarray(0, length), cutIfDue)
      requests = requests.subarray(length)
    }
    client.on('data', (chunk) => {
      requests = Buffer.concat([requests, chunk])
      next()
    })
    redis.on('data', (chunk) => {
      replies = Buffer.concat([replies, chunk])
      if (endOfValue(replies) === 0) return
      // The reply to a command from before the count is not in it.
      if (passed.reply < passed.request) passed.reply++
      cutIfDue()
      client.write(replies)
      replies = Buffer.alloc(0)
      isAwaiting = false
      next()
    })
    for (const socket of [client, redis]) sockets.add(socket)
    joinSockets(client, redis)
  })

  function cutIfDue(): void {
    if (!cut || passed[cut.what] < cut.count) return
    cut.done()
    cut = undefined
    server.close()
    for (const socket of sockets) socket.destroy()
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { readonly port: number }).port,
    cutAfter: (what, count) =>
      new Promise((done) => {
        Object.assign(passed, { request: 0, reply: 0 })
        cut = { what, count, done }
        cutIfDue()
      }),
    [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Where a RESP2 value that begins at `at` ends; 0 if more of it has to arrive. */
function endOfValue(bytes: Buffer, at = 0): number {
  const lineEnd = bytes.indexOf('\r\n', at)
  if (lineEnd < 0) return 0
  const [type, size] = [String.fromCharCode(bytes[at] as number), Number(bytes.toString('latin1', at + 1, lineEnd))]
  let end = lineEnd + 2
  if (type === '$' && size >= 0) end += size + 2
  for (let part = 0; type === '*' && part < size; part++) {
    end = endOfValue(bytes, end)
    if (end === 0) return 0
  }
  return end <= bytes.length ? end : 0
}
