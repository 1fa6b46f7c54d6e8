import { createServer } from 'node:net'

/**
 * Below the ports that systems give to outgoing connections (32768 and up on Linux), so that no such connection takes a
 * port between our check and the server's start, or while a server is being restarted. A cluster node's second port
 * lies 10,000 above its first, and fits too.
 */
const firstPort = 12_000
/**
 * The ports are divided among the workers of a test run. A test may close a port and open it again later, such as one
 * whose server is killed or refuses connections; meanwhile no other test's server must answer there instead.
 */
const shares = 16
const portsOfEach = 625
const share = Number(process.env['VITEST_POOL_ID'] ?? process.pid) % shares

/** The ports that this process was given: none is given twice, for the same reason. */
const given = new Set<number>()

/** A port of 127.0.0.1 that nobody listens on now. Somebody else may be quicker, so be prepared to ask again. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = firstPort + share * portsOfEach + Math.floor(Math.random() * portsOfEach)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
  throw new Error(`No free port was found from ${firstPort + share * portsOfEach} on`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
