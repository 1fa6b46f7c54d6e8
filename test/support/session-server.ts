import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { EnterOptions, SessionEnd } from '@leasehold/sessions'
import { WebSocket } from 'ws'
import { eventually } from './scale.ts'
import type { SessionNews, SessionOrder } from './session-worker.ts'

const program = new URL('session-worker.ts', import.meta.url)

type Told<T extends SessionNews['type']> = Extract<SessionNews, { readonly type: T }>

/** A server with sessions, in a separate process; its clients, in this one; and what it has reported. */
export class SessionServer implements AsyncDisposable {
  readonly news: SessionNews[] = []
  readonly #child: ChildProcess
  readonly #clients: WebSocket[] = []

  constructor({ port, prefix }: { readonly port: number; readonly prefix: string }, name: string, ttlMs: number) {
    const args = [String(port), prefix, name, String(ttlMs)]
    this.#child = fork(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child.on('message', (news: SessionNews) => this.news.push(news))
  }

  of<T extends SessionNews['type']>(type: T): readonly Told<T>[] {
    return this.news.filter((each): each is Told<T> => each.type === type)
  }

  /** The number of sessions per ending. */
  get ends(): Partial<Record<SessionEnd, number>> {
    const counts: Partial<Record<SessionEnd, number>> = {}
    for (const { end } of this.of('ended')) counts[end] = (counts[end] ?? 0) + 1
    return counts
  }

  /** Connects a client that answers pings and has not entered yet. */
  async connect(): Promise<WebSocket> {
    await eventually(() => this.of('ready').length > 0)
    const client = new WebSocket(`ws://127.0.0.1:${this.of('ready')[0]?.port}`, { perMessageDeflate: false })
    this.#clients.push(client)
    // Servers are killed.
    client.on('error', () => undefined)
    await once(client, 'open')
    return client
  }

  /** Has a client enter, and resolves with its socket once it was let in. */
  async enter(options: EnterOptions, connected?: WebSocket): Promise<WebSocket> {
    const client = connected ?? (await this.connect())
    client.send(JSON.stringify(options))
    const [answer] = await once(client, 'message')
    if (String(answer) !== 'entered') throw new Error(`${options.userId} was not let in: ${answer}`)
    return client
  }

  async measure(): Promise<Told<'measured'>> {
    const before = this.of('measured').length
    this.#send({ type: 'measure' })
    await eventually(() => this.of('measured').length > before)
    return this.of('measured').at(-1) as Told<'measured'>
  }

  async close(): Promise<void> {
    this.#send({ type: 'close' })
    await eventually(() => this.of('closed').length > 0)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.terminate()
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }

  #send(order: SessionOrder): void {
    this.#child.send(order)
  }
}
