/*
 * A Durable Object with the sockets of a room, as in the README of `@leasehold/sessions`, with shorter times. It keeps
 * nothing in memory that it could not lose: each session is its socket's attachment, and an alarm renews them. It
 * counts how often it was constructed.
 */

import { DurableObject, env } from 'cloudflare:workers'
import { createLocker, type Duration } from '@leasehold/core'
import {
  type HibernatingSessions,
  hibernatingSessions,
  type KeptSession,
  type RenewedSession,
} from '@leasehold/sessions'
import { fetchStore } from '@leasehold/upstash'

interface Attachment {
  readonly session: KeptSession
  readonly since: number
}
interface HibernatingSocket {
  serializeAttachment(value: Attachment): void
  deserializeAttachment(): Attachment
  send(message: string): void
  close(code: number, reason: string): void
}
interface State {
  readonly id: { toString(): string }
  readonly storage: {
    getAlarm(): Promise<number | null>
    setAlarm(atMs: number): Promise<void>
    get(key: string): Promise<number | undefined>
    put(key: string, value: number): Promise<void>
  }
  acceptWebSocket(socket: HibernatingSocket): void
  getWebSockets(): readonly HibernatingSocket[]
  setWebSocketAutoResponse(pair: object): void
  getWebSocketAutoResponseTimestamp(socket: HibernatingSocket): Date | null
}
declare const WebSocketPair: new () => { readonly 0: object; readonly 1: HibernatingSocket }
declare const WebSocketRequestResponsePair: new (request: string, response: string) => object

const made = new Map<string, number>()

export class SessionRoom extends DurableObject {
  readonly #state: State
  readonly #sessions: HibernatingSessions

  constructor(state: never, bindings: unknown, ttl: Duration = '30s') {
    super(state, bindings)
    this.#state = state
    made.set(this.#id, (made.get(this.#id) ?? 0) + 1)
    const store = fetchStore({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN })
    this.#sessions = hibernatingSessions(createLocker({ store, name: 'object' }), { ttl, sharedRoles: ['reader'] })
    this.#state.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'))
  }

  get #id(): string {
    return this.#state.id.toString()
  }

  async fetch(request: Request): Promise<Response> {
    const asked = new URL(request.url).searchParams
    if (asked.has('made')) {
      return Response.json({ made: made.get(this.#id), renewals: (await this.#state.storage.get('renewals')) ?? 0 })
    }
    const [resource = '', userId = '', sessionId = '', every = '', silence = ''] = [
      ...['room', 'user', 'tab', 'every', 'silence'].map((name) => asked.get(name) ?? ''),
    ]
    const entered = await this.#sessions.enter({ resource, role: 'writer', userId, sessionId })
    if (entered.type === 'held') return new Response(`${entered.by.userId} is writing`, { status: 409 })
    const { 0: client, 1: socket } = new WebSocketPair()
    this.#state.acceptWebSocket(socket)
    socket.serializeAttachment({ session: entered.session, since: Date.now() })
    await this.#state.storage.put('every', Number(every))
    await this.#state.storage.put('silence', Number(silence))
    // Only if none is set: an alarm that each enter postpones never fires.
    const { storage } = this.#state
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + Number(every))
    return new Response(null, { status: 101, webSocket: client } as ResponseInit)
  }

  async alarm(): Promise<void> {
    const [everyMs = 0, silenceMs = 0] = await Promise.all([
      this.#state.storage.get('every'),
      this.#state.storage.get('silence'),
    ])
    const alive: HibernatingSocket[] = []
    const leaving: Promise<void>[] = []
    for (const socket of this.#state.getWebSockets()) {
      const heard = this.#state.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0
      const { session, since } = socket.deserializeAttachment()
      if (Date.now() - Math.max(heard, since) < silenceMs) alive.push(socket)
      else leaving.push(this.#sessions.leave(session).then(() => socket.close(4002, 'silent')))
    }
    const renewed = await this.#sessions.renew(alive.map((socket) => socket.deserializeAttachment().session))
    const trustedUntil: number[] = []
    for (const [at, socket] of alive.entries()) {
      const { session, end } = renewed[at] as RenewedSession
      if (end) socket.close(end === 'lost' ? 4003 : 4001, end)
      else {
        socket.serializeAttachment({ ...socket.deserializeAttachment(), session })
        trustedUntil.push(session.trustedUntilMs)
      }
    }
    await this.#state.storage.put('renewals', ((await this.#state.storage.get('renewals')) ?? 0) + 1)
    // Sooner if the store did not answer: a page must hear when its session can no longer be trusted.
    if (trustedUntil.length > 0) await this.#state.storage.setAlarm(Math.min(Date.now() + everyMs, ...trustedUntil))
    await Promise.all(leaving)
  }

  /** Answers each message with how long the session can be trusted. */
  webSocketMessage(socket: HibernatingSocket): void {
    socket.send(String(this.#sessions.remaining(socket.deserializeAttachment().session)))
  }

  async webSocketClose(socket: HibernatingSocket): Promise<void> {
    await this.#sessions.leave(socket.deserializeAttachment().session)
  }
}

/** For tests in which the ttl has to pass. */
export class BriefSessionRoom extends SessionRoom {
  constructor(state: never, bindings: unknown) {
    super(state, bindings, '8s')
  }
}

const objects = (env as unknown as { readonly ROOM: { getByName(name: string): { fetch: typeof fetch } } }).ROOM

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  fetch: (request: Request): Promise<Response> =>
    objects.getByName(new URL(request.url).searchParams.get('room') ?? '').fetch(request),
}
