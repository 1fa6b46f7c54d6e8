import { closeCodes } from './figures.ts'
import type { LiveSession } from './session.ts'

/** What is used of a socket of the library `ws`, by shape. */
export interface SocketLike {
  /** 2 and 3: it is closing, or closed. */
  readonly readyState: number
  on(event: 'message' | 'pong' | 'close', listener: () => void): unknown
  ping(): void
  close(code?: number, reason?: string): void
  /** Ends it without a farewell: the other side may not be there any more. */
  terminate(): void
}

/** The sockets of this server's sessions. A socket may serve several of them, and ends with the last. */
export class Sockets {
  readonly #sessions = new Map<SocketLike, Set<LiveSession>>()
  readonly #sockets = new Map<LiveSession, SocketLike>()

  /** Listens to a socket from now on, so that its end is not missed while a session enters. */
  listen(socket: SocketLike): void {
    if (this.#sessions.has(socket) || hasEnded(socket)) return
    const served = new Set<LiveSession>()
    this.#sessions.set(socket, served)
    const seen = (): void => {
      for (const each of served) each.seen()
    }
    socket.on('message', seen)
    socket.on('pong', seen)
    socket.on('close', () => {
      this.#sessions.delete(socket)
      for (const each of served) each.finish('left')
    })
  }

  /** Ties a session to a socket that is listened to, or ends it if the socket has ended since. */
  attach(socket: SocketLike, session: LiveSession): void {
    const served = this.#sessions.get(socket)
    if (!served || hasEnded(socket)) {
      session.finish('left')
      return
    }
    served.add(session)
    this.#sockets.set(session, socket)
  }

  /** Pings each socket: who answers is alive. */
  ping(): void {
    for (const socket of this.#sessions.keys()) if (!hasEnded(socket)) socket.ping()
  }

  /** A session has ended. Its socket goes with it, unless it serves others. */
  onEnd(session: LiveSession): void {
    const socket = this.#sockets.get(session)
    if (!socket) return
    this.#sockets.delete(session)
    const served = this.#sessions.get(socket)
    served?.delete(session)
    if (!served || served.size > 0) return
    this.#sessions.delete(socket)
    const { end = 'left' } = session
    if (end === 'silent') socket.terminate()
    else socket.close(closeCodes[end], end)
  }
}

const hasEnded = ({ readyState }: SocketLike): boolean => readyState > 1
