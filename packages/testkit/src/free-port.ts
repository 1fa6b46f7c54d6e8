import { createServer } from 'node:net'

/**
 * Below the ports that systems give to outgoing connections (32768 and up on Linux), so that none of those takes a port
 * between our check and the server's start, or while a server is being restarted. A cluster node's second port lies
 * 10,000 above its first, and fits too.
 */
const firstPort = 12_000
const lastPort = 21_999

/** A port of 127.0.0.1 that nobody listens on now. Somebody else may be quicker, so be prepared to ask again. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = firstPort + Math.floor(Math.random() * (lastPort - firstPort + 1))
    if (await isFree(port)) return port
  }
  throw new Error(`No free port was found between ${firstPort} and ${lastPort}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
