import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { LockerEvent } from '@leasehold/core'

/** An event of the server's locker, and when the server had it (its own clock, in milliseconds). */
export type ReportedEvent = LockerEvent & { readonly at: number }

/** This service as a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number
  readonly url: string
  /** The line with which it said that it listens. */
  readonly greeting: string
  kill(signal: NodeJS.Signals): void
  /** Ends it in order, by force if that takes too long, and answers its exit code: null if it took force. */
  stop(): Promise<number | null>
}

const main = new URL('main.ts', import.meta.url)
/** Longer than the server itself allows. */
const stopDeadlineMs = 12_000

/**
 * Starts the service on a free port and resolves when it listens. It stops when this process ends, however that is.
 *
 * @param program another program that greets, reports its events and ends as this service does
 * @throws Error if it ends instead; it has said why on stderr.
 */
export async function startServerProcess(
  env: Readonly<Record<string, string>>,
  onEvent: (event: ReportedEvent) => void = () => undefined,
  program: URL = main,
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [fileURLToPath(program)], {
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    // A group of its own: Ctrl-C in a terminal is for the parent, which then stops its servers in order.
    detached: true,
  })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  child.on('message', (event) => onEvent(event as ReportedEvent))

  // Read to the end, so that the pipe does not fill up.
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const greeting = await Promise.race([
    once(lines, 'line').then(([line]) => line as string),
    ended.then((code) => Promise.reject(new Error(`The server ended with code ${code} before it listened`))),
  ])
  const url = /http:\/\/\S+/.exec(greeting)?.[0]
  if (url === undefined) throw new Error(`The server said: ${greeting}`)

  async function stop(): Promise<number | null> {
    child.kill('SIGTERM')
    // A stopped process is told of SIGTERM only once it goes on.
    child.kill('SIGCONT')
    const force = setTimeout(() => child.kill('SIGKILL'), stopDeadlineMs)
    const code = await ended
    clearTimeout(force)
    return code
  }
  return {
    pid: child.pid as number,
    url,
    greeting,
    kill: (signal) => void child.kill(signal),
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
    },
  }
}
