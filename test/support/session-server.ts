import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { EnterOptions, SessionEnd } from '@leasehold/sessions'
import { eventually } from './scale.ts'
import type { SessionNews, SessionOrder } from './session-worker.ts'

const program = new URL('session-worker.ts', import.meta.url)

type Told<T extends SessionNews['type']> = Extract<SessionNews, { readonly type: T }>

/** A server with sessions, in a separate process, and what it has reported. */
export class SessionServer implements AsyncDisposable {
  readonly news: SessionNews[] = []
  readonly #child: ChildProcess

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

  /** Resolves with the number of sessions that were let in. */
  async enter(entering: readonly EnterOptions[]): Promise<number> {
    const before = this.of('entered').length
    this.#send({ type: 'enter', entering })
    await eventually(() => this.of('entered').length > before, 60_000)
    return this.of('entered').at(-1)?.count ?? 0
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
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }

  #send(order: SessionOrder): void {
    this.#child.send(order)
  }
}
