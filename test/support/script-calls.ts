import { connect, createServer, type Socket } from 'node:net'
import { joinSockets } from './joined-sockets.ts'

/** A way to a Redis with a single user, on which that user's script calls are counted. */
export interface CountedWay extends AsyncDisposable {
  readonly port: number
  /** How many EVAL and EVALSHA have passed. */
  readonly scriptCalls: number
}

/** Redis itself counts the commands of all its clients together, so they are told apart on the way there. */
export async function countedWay(redisPort: number): Promise<CountedWay> {
  let scriptCalls = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const redis = connect(redisPort, '127.0.0.1')
    const calls = callCounter()
    client.on('data', (chunk) => {
      scriptCalls += calls(chunk)
    })
    client.pipe(redis).pipe(client)
    for (const socket of [client, redis]) sockets.add(socket)
    joinSockets(client, redis)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { readonly port: number }).port,
    get scriptCalls() {
      return scriptCalls
    },
    [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Counts the calls in a client's byte stream, however the network has split it. */
function callCounter(): (chunk: Buffer) => number {
  const name = /\r\n\$\d\r\n(?:eval|evalsha)\r\n/gi
  /** Kept because it may be the beginning of a name; longer than any whole name. */
  const longest = 20
  let rest = ''
  return (chunk) => {
    const text = rest + chunk.toString('latin1')
    const calls = [...text.matchAll(name)]
    const last = calls.at(-1)
    rest = text.slice(last ? last.index + last[0].length : 0).slice(-longest)
    return calls.length
  }
}
