import type { Member, RoomEvent, Session, Sessions } from '@leasehold/sessions'
import type { WebSocket } from 'ws'
import type { FromPage, PageMember, Part, Role, ToPage } from './messages.ts'
import type { Contents, SharedDocument } from './shared-document.ts'

/** Who is at the other end of a socket. */
export interface Visitor {
  readonly user: string
  /** The name of the tab, by which it gets its own place back when it reconnects. */
  readonly tab: string
  /** The role that the tab had before it reconnected. */
  readonly role: Role
}

/** How often the document is read even if no change is announced, in milliseconds. */
const recheckMs = 500

const parts: Readonly<Record<string, Part>> = { writer: 'text', reviewer: 'note' }

/**
 * One document and this server's pages that show it. Read this file first: every use of `@leasehold/sessions` is in it.
 */
export class Room {
  readonly #sessions: Sessions
  readonly #document: SharedDocument
  readonly #resource: string
  readonly #sockets = new Set<WebSocket>()
  /** Null while the members are unknown. */
  #members: readonly PageMember[] | null = null
  /** What all pages were sent last. */
  #sent: Contents = { text: '', note: '' }
  /** When the read that answered last was sent, by the monotonic clock: the pages' content is at least as recent. */
  #knownMs = 0
  #isRechecking = false

  constructor(sessions: Sessions, document: SharedDocument, resource: string) {
    this.#sessions = sessions
    this.#document = document
    this.#resource = resource
  }

  /** Starts to report to every page of this server who comes and goes on all servers, and what is written there. */
  async open(): Promise<void> {
    this.#sessions.watch(this.#resource, (event) => this.#onRoom(event))
    await this.#document.onChange(() => void this.#follow('send').catch(() => undefined))
    await this.#follow('send')
    setInterval(() => void this.#recheck(), recheckMs).unref()
  }

  /** A page has connected. It gets the role that it asks for, if nobody else took the role meanwhile. */
  async welcome(socket: WebSocket, visitor: Visitor): Promise<void> {
    let session: Session | undefined

    const enter = async (role: Role, over: boolean): Promise<boolean> => {
      const { user: userId, tab: sessionId } = visitor
      const takeOver = over ? 'anyone' : 'nobody'
      const resource = this.#resource
      const entered = await this.#sessions.enter({ resource, role, userId, sessionId, takeOver, socket })
      if (entered.type === 'held') {
        send(socket, { type: 'held', role, by: entered.by.userId })
        return false
      }
      session = entered.session
      const part = parts[role]
      if (part) {
        // Somebody has already taken the role over, and the socket will be closed for that.
        if (!(await this.#document.claim(part, session.fence))) return true
        // A page writes the whole part. It must not begin without the last value written before.
        await this.#sendDocument(socket)
      }
      send(socket, { type: 'role', role })
      return true
    }

    const onMessage = async (message: FromPage): Promise<void> => {
      if (message.type === 'ping') {
        const ageMs = performance.now() - this.#knownMs
        send(socket, { type: 'pong', number: message.number, trustMs: session?.remaining() ?? 0, ageMs })
      } else if (message.type === 'take') {
        await enter(message.role, message.over)
      } else if (session?.isValid && parts[session.role] === message.part) {
        const isStored = await this.#document.write(message.part, message.value, session.fence)
        if (isStored) send(socket, { type: 'written', number: message.number })
      }
    }

    // The store did not answer. The page reconnects, here or to another server, and says meanwhile that it is not
    // connected.
    const giveUp = (): void => socket.close(1013, 'try again later')
    // Messages are handled one after another, in the order in which they were sent.
    let work: Promise<void> = enter(visitor.role, false).then(async (isIn) => {
      if (!isIn) await enter('reader', false)
    })

    socket.on('message', (data) => {
      work = work.then(() => onMessage(JSON.parse(String(data)) as FromPage)).catch(giveUp)
    })
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.terminate())
    this.#sockets.add(socket)
    send(socket, { type: 'members', members: this.#members })
    work = work.then(() => this.#sendDocument(socket)).catch(giveUp)
    await work
  }

  #onRoom(event: RoomEvent): void {
    this.#members = event.type === 'unreachable' ? null : event.members.map(asShown)
    for (const socket of this.#sockets) send(socket, { type: 'members', members: this.#members })
  }

  /** Reads the document for all pages, and sends it, or does so only if it is not what they were sent last. */
  async #follow(how: 'send' | 'send changes'): Promise<void> {
    const [sinceMs, sockets] = [performance.now(), [...this.#sockets]]
    const contents = await this.#document.read()
    this.#knownMs = sinceMs
    if (how === 'send changes' && contents.text === this.#sent.text && contents.note === this.#sent.note) return
    this.#sent = contents
    for (const socket of sockets) send(socket, { type: 'document', ...contents })
  }

  /** A server that has lost its store still vouches for its sessions for a while, but does not know the document. */
  async #recheck(): Promise<void> {
    if (this.#isRechecking) return
    this.#isRechecking = true
    await this.#follow('send changes').catch(() => undefined)
    this.#isRechecking = false
  }

  async #sendDocument(socket: WebSocket): Promise<void> {
    send(socket, { type: 'document', ...(await this.#document.read()) })
  }
}

const asShown = ({ userId, roles, sessions }: Member): PageMember => ({ user: userId, roles, tabs: sessions.length })

const send = (socket: WebSocket, message: ToPage): void => socket.send(JSON.stringify(message), () => undefined)
