import { closeCodes } from './figures.ts'
import type { LiveSession, SessionEnd } from './session.ts'

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

/** What a socket is there for. */
interface Served {
  readonly sessions: Set<LiveSession>
  /** How many enter with it. The session whose place such a one takes may end before the answer is here, and the socket stays. */
  entering: number
  /** How the last of its sessions ended, once it has none. */
  end: SessionEnd | undefined
}

/** The sockets of this server's sessions. A socket may serve several of them, and ends with the last. */
export class Sockets {
  readonly #served = new Map<SocketLike, Served>()
  readonly #sockets = new Map<LiveSession, SocketLike>()

  /** A session enters with this socket, which stays open meanwhile. Its end is not missed. */
  hold(socket: SocketLike): void {
    if (hasEnded(socket)) return
    const served = this.#served.get(socket) ?? this.#listen(socket)
    served.entering++
  }

  /** Ties a session to a socket that is held, or ends it if the socket has ended since. */
  attach(socket: SocketLike, session: LiveSession): void {
    const served = this.#served.get(socket)
    if (!served || hasEnded(socket)) session.finish('left')
    // It was lost while it entered.
    else if (session.end !== undefined) served.end = session.end
    else {
      served.sessions.add(session)
      this.#sockets.set(session, socket)
    }
  }

  /** The session has entered, or it was refused. */
  letGo(socket: SocketLike): void {
    const served = this.#served.get(socket)
    if (!served) return
    served.entering--
    this.#closeUnused(socket, served)
  }

  /** Pings each socket: who answers is alive. */
  ping(): void {
    for (const socket of this.#served.keys()) if (!hasEnded(socket)) socket.ping()
  }

  /** A session has ended. Its socket goes with it, unless it serves others. */
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

  /** One that never had a session is left alone: its client may ask for another role. */
  #closeUnused(socket: SocketLike, { sessions, entering, end }: Served): void {
    if (sessions.size > 0 || entering > 0 || end === undefined) return
    this.#served.delete(socket)
    if (end === 'silent') socket.terminate()
    else socket.close(closeCodes[end], end)
  }
}

const hasEnded = ({ readyState }: SocketLike): boolean => readyState > 1
