import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { QueueNews, QueueOrder } from './queue-worker.ts'
import { eventually } from './scale.ts'

/** Processes that queue for one lock. */
export interface QueueCrew extends AsyncDisposable {
  readonly processes: readonly ChildProcess[]
  /** Enters waiters, numbered from 0, one after another: alternating between the processes, or all in one. */
  enter(count: number, by?: ChildProcess): Promise<void>
  /** Who had the lock, in the order of their fences. */
  readonly served: readonly number[]
  /** Waits until that many waiters have had the lock. */
  servedAre(count: number): Promise<void>
}

/** Where the processes of a crew find their store. */
export interface CrewStore {
  readonly server: { readonly port: number }
  readonly prefix: string
  /** Whether the server is a node of a cluster. */
  readonly isCluster?: boolean
  /** A way to the server for each process, by its port; if missing, all of them connect to the server. */
  readonly ways?: readonly number[]
}

/**
 * @param holdMs how long each of their waiters holds the lock
 * @param ttl    of their leases, in milliseconds
 */
export async function queueCrew(
  { server, prefix, isCluster = false, ways }: CrewStore,
  key: string,
  size: number,
  holdMs = 0,
  ttl = 10_000,
): Promise<QueueCrew> {
  const program = new URL('queue-worker.ts', import.meta.url)
  const started = Array.from({ length: size }, (_, process) =>
    fork(program, [ways?.[process] ?? server.port, prefix, key, holdMs, ttl, isCluster].map(String)),
  )
  await Promise.all(started.map((child) => once(child, 'message')))
  const fences = new Map<number, number>()
  let entered = 0
  let queued = 0
  for (const child of started) {
    child.on('message', (news: QueueNews) => {
      if ('queued' in news) queued++
      else fences.set(news.granted, news.fence)
    })
  }
  return {
    processes: started,
    async enter(count, by) {
      for (let each = 0; each < count; each++) {
        const child = by ?? started[entered % size]
        const order: QueueOrder = { enter: [entered++] }
        child?.send(order)
        while (queued < entered) await once(child as ChildProcess, 'message')
      }
    },
    get served() {
      return [...fences].sort(([, one], [, other]) => one - other).map(([number]) => number)
    },
    servedAre: (count) => eventually(() => fences.size >= count, 120_000),
    async [Symbol.asyncDispose]() {
      const exits = started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      for (const child of exits) child.kill('SIGKILL')
      await Promise.all(exits.map((child) => once(child, 'exit')))
    },
  }
}
