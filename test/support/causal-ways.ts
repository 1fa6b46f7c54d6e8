import { connect, createServer, type Socket } from 'node:net'
import { joinSockets } from './joined-sockets.ts'

/** One way to a Redis per process, on which trips are counted. */
export interface CausalWays extends AsyncDisposable {
  readonly ports: readonly number[]
  /**
   * The length of the chain of trips, each caused by the one before, that led to what this process was told last. The
   * count begins with what the first process sent last.
   */
  tripsTo(process: number): number
}

/**
 * Counts by Lamport's rule: what a process sends is one trip further than everything it has been told. Unlike a time,
 * that is the same on a machine of any speed.
 */
export async function causalWays(redisPort: number, processes: number): Promise<CausalWays> {
  const told = Array.from({ length: processes }, () => 0)
  let redisTold = 0
  const sockets = new Set<Socket>()
  const servers = told.map((_, process) =>
    createServer((client) => {
      const redis = connect(redisPort, '127.0.0.1')
      client.on('data', (chunk) => {
        if (process === 0) {
          told.fill(0)
          redisTold = 0
        }
        redisTold = Math.max(redisTold, (told[process] ?? 0) + 1)
        redis.write(chunk)
      })
      redis.on('data', (chunk) => {
        told[process] = redisTold + 1
        client.write(chunk)
      })
      for (const socket of [client, redis]) sockets.add(socket)
      joinSockets(client, redis)
    }),
  )
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))),
  )
  return {
    ports: servers.map((server) => (server.address() as { readonly port: number }).port),
    tripsTo: (process) => told[process] ?? Number.NaN,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}
