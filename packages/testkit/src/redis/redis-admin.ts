import { once } from 'node:events'
import { connect } from 'node:net'
import { encodeCommand, type RedisReply, ReplyReader } from './resp.ts'

export interface RedisAdminOptions {
  readonly port: number
  /** Default `127.0.0.1`. */
  readonly host?: string
  /** How long connecting, and each command, may take, in milliseconds; default 5,000. */
  readonly deadlineMs?: number
  /** Receives what the server pushes: the messages after a `SUBSCRIBE`. */
  readonly onMessage?: (message: RedisReply) => void
}

/** A connection for tests that check a server, or interfere with it, bypassing the client under test. */
export interface RedisAdmin extends AsyncDisposable {
  /**
   * Sends one command and resolves to its reply. Rejects with the server's own error text, when the connection closes,
   * and when the deadline has passed. The deadline also closes the connection, because a late reply would be taken for
   * the next command's.
   */
  command(...args: readonly (string | number)[]): Promise<RedisReply>
  close(): Promise<void>
}

/** Connects with nothing but a socket, so that no client's queue, retry or reconnect stands between test and server. */
export async function connectRedisAdmin(options: RedisAdminOptions): Promise<RedisAdmin> {
  const { port, host = '127.0.0.1', deadlineMs = 5_000, onMessage } = options
  const socket = connect({ port, host, noDelay: true })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const reader = new ReplyReader()
  /** The callbacks that take the next replies, in order. */
  const waiting: ((reply: RedisReply) => void)[] = []
  let problem = new Error(`The connection to Redis on port ${port} is closed`)

  const deadline = (what: string): NodeJS.Timeout =>
    setTimeout(() => {
      socket.destroy(new Error(`Redis on port ${port} did not answer ${what} within ${deadlineMs} ms`))
    }, deadlineMs)

  socket.on('data', (chunk) => {
    try {
      reader.push(chunk)
      for (let reply = reader.next(); reply !== undefined; reply = reader.next()) {
        const take = waiting.shift() ?? onMessage
        take?.(reply)
      }
    } catch (error) {
      socket.destroy(error as Error)
    }
  })
  socket.on('error', (error) => {
    problem = error
  })
  socket.on('close', () => {
    for (const take of waiting.splice(0)) take(problem)
  })

  const connecting = deadline('a connection')
  await once(socket, 'connect').finally(() => clearTimeout(connecting))

  const close = (): Promise<void> => {
    socket.destroy()
    return closed
  }
  return {
    command(...args) {
      return new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(problem)
        const timer = deadline(String(args[0]))
        waiting.push((reply) => {
          clearTimeout(timer)
          if (reply instanceof Error) reject(reply)
          else resolve(reply)
        })
        socket.write(encodeCommand(args))
      })
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
