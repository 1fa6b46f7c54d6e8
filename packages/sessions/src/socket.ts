import { closeCodes } from './figures.ts'
import type { LiveSession, SessionEnd } from './session.ts'

/** The part of a `ws` socket that is used, by shape. */
export interface SocketLike {
  /** 2: closing; 3: closed. */
  readonly readyState: number
  on(event: 'message' | 'pong' | 'close', listener: () => void): unknown
  ping(): void
  close(code?: number, reason?: string): void
  /** Ends it without a closing handshake: the other side may no longer be there. */
  terminate(): void
}

/** The sessions that a socket serves. */
interface Served {
  readonly sessions: Set<LiveSession>
  /**
   * How many sessions are entering with this socket. While one is, the socket stays open, even if the session that it
   * replaces ends first.
   */
  entering: number
  /** How the last of its sessions ended, once it has none. */
  end: SessionEnd | undefined
}

/** The sockets of this server's sessions. A socket may serve several sessions, and is closed with the last. */
export class Sockets {
  readonly #served = new Map<SocketLike, Served>()
  readonly #sockets = new Map<LiveSession, SocketLike>()

  /** A session is entering with this socket, which stays open meanwhile. If the socket closes, that is noticed. */
  hold(socket: SocketLike): void {
    if (hasEnded(socket)) return
    const served = this.#served.get(socket) ?? this.#listen(socket)
    served.entering++
  }

  /** Ties a session to a socket that is held, or ends the session if the socket has closed since. */
  attach(socket: SocketLike, session: LiveSession): void {
    const served = this.#served.get(socket)
    if (!served || hasEnded(socket)) session.finish('left')
    // The session ended while it entered.
    else if (session.end !== undefined) served.end = session.end
    else {
      served.sessions.add(session)
      this.#sockets.set(session, socket)
    }
  }

  /** The session has entered, or was refused. */
  letGo(socket: SocketLike): void {
    const served = this.#served.get(socket)
    if (!served) return
    served.entering--
    this.#closeUnused(socket, served)
  }

  /** Pings each socket: a client that answers is alive. */
  ping(): void {
    for (const socket of this.#served.keys()) if (!hasEnded(socket)) socket.ping()
  }

  /** A session has ended. Its socket is closed, unless it serves others. */
  onEnd(session: LiveSession): void {
    const socket = this.#sockets.get(session)
    const served = socket && this.#served.get(socket)
    this.#sockets.delete(session)
    if (!served) return
    served.sessions.delete(session)
    served.end = session.end
    this.#closeUnused(socket, served)
  }

  #listen(socket: SocketLike): Served {
    const served: Served = { sessions: new Set(), entering: 0, end: undefined }
    this.#served.set(socket, served)
    const seen = (): void => {
      for (const each of served.sessions) each.seen()
    }
    socket.on('message', seen)
    socket.on('pong', seen)
    socket.on('close', () => {
      this.#served.delete(socket)
      for (const each of served.sessions) each.finish('left')
    })
    return served
  }

  /** A socket that never had a session is left alone: its client may ask for another role. */
  #closeUnused(socket: SocketLike, { sessions, entering, end }: Served): void {
    if (sessions.size > 0 || entering > 0 || end === undefined) return
    this.#served.delete(socket)
    if (end === 'silent') socket.terminate()
    else socket.close(closeCodes[end], end)
  }
}

const hasEnded = ({ readyState }: SocketLike): boolean => readyState > 1
