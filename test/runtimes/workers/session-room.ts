/*
 * A Durable Object with the sockets of a room, as in the README of `@leasehold/sessions`, with shorter times. It keeps
 * nothing in memory that it could not lose: each session is its socket's attachment, and an alarm renews them. It
 * counts how often it was constructed.
 */

import { DurableObject, env } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { hibernatingSessions, type KeptSession } from '@leasehold/sessions'
import { fetchStore } from '@leasehold/upstash'

interface Attachment {
  readonly session: KeptSession
  readonly since: number
}
interface HibernatingSocket {
  serializeAttachment(value: Attachment): void
  deserializeAttachment(): Attachment
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
  readonly #sessions = hibernatingSessions(
    createLocker({ store: fetchStore({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }), name: 'object' }),
    { ttl: '30s', sharedRoles: ['reader'] },
  )

  constructor(state: never, bindings: unknown) {
    super(state, bindings)
    this.#state = state
    made.set(this.#id, (made.get(this.#id) ?? 0) + 1)
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
    const alive = new Map<KeptSession, HibernatingSocket>()
    for (const socket of this.#state.getWebSockets()) {
      const heard = this.#state.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0
      const { session, since } = socket.deserializeAttachment()
      if (Date.now() - Math.max(heard, since) < silenceMs) alive.set(session, socket)
      else {
        await this.#sessions.leave(session)
        socket.close(4002, 'silent')
      }
    }
    for (const { session, end } of await this.#sessions.renew([...alive.keys()])) {
      alive.get(session)?.close(4001, end)
      alive.delete(session)
    }
    await this.#state.storage.put('renewals', ((await this.#state.storage.get('renewals')) ?? 0) + 1)
    if (alive.size > 0) await this.#state.storage.setAlarm(Date.now() + everyMs)
  }

  async webSocketClose(socket: HibernatingSocket): Promise<void> {
    await this.#sessions.leave(socket.deserializeAttachment().session)
  }
}

const objects = (env as unknown as { readonly ROOM: { getByName(name: string): { fetch: typeof fetch } } }).ROOM

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  fetch: (request: Request): Promise<Response> =>
    objects.getByName(new URL(request.url).searchParams.get('room') ?? '').fetch(request),
}
