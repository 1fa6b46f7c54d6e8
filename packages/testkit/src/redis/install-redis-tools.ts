import { execFile } from 'node:child_process'
import { connect, createServer } from 'node:net'

/** How long one run of apt-get may take, and how long to wait for another process that installs. */
const installDeadlineMs = 180_000

/**
 * Installs Debian's `redis-tools`, which has the server program too. Resolves to what went wrong, or undefined.
 *
 * Not `redis-server`: that package adds a system service, which would start by itself on the default port. If several
 * processes need a server at once, one installs it, and the others wait.
 */
export async function installRedisTools(aptGet: string, installed: () => boolean): Promise<string | undefined> {
  return withMachineLock('leasehold-install-redis-tools', installDeadlineMs, async () => {
    if (installed()) return undefined
    // The lists may be missing or old; if they cannot be fetched, the install reports better what is wrong.
    await run(aptGet, ['update'])
    return run(aptGet, ['install', '-y', '--no-install-recommends', 'redis-tools'])
  })
}

/** Resolves to undefined, or to why the command failed. */
function run(command: string, args: readonly string[]): Promise<string | undefined> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return new Promise((resolve) => {
    execFile(command, args, { env, timeout: installDeadlineMs }, (error, _stdout, stderr) => {
      resolve(error ? `apt-get ${args[0]}: ${stderr.trim().split('\n').at(-1) || error.message}` : undefined)
    })
  })
}

/**
 * Runs `work` while no other process on this machine runs work under the same name.
 *
 * The lock is a socket in Linux's abstract namespace: only one process can listen on it, and it goes away with that
 * process, however the process ends, so there is no stale lock to clean up. Later processes connect, and the end of the
 * connection tells them that it is their turn to try.
 *
 * @throws Error when the lock was not free within `deadlineMs`.
 */
export async function withMachineLock<T>(name: string, deadlineMs: number, work: () => Promise<T>): Promise<T> {
  const address = `\0${name}`
  const deadline = AbortSignal.timeout(deadlineMs)
  for (;;) {
    const release = await listen(address)
    if (release) {
      try {
        return await work()
      } finally {
        await release()
      }
    }
    await released(address, deadline)
    if (deadline.aborted) throw new Error(`Another process has held the lock ${name} for more than ${deadlineMs} ms`)
  }
}

/** Resolves to a function that stops listening, or to undefined if another process listens. */
function listen(address: string): Promise<(() => Promise<void>) | undefined> {
  const waiters = new Set<{ destroy(): void }>()
  const server = createServer((socket) => {
    waiters.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => waiters.delete(socket))
  })
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const waiter of waiters) waiter.destroy()
    })
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    server.listen(address, () => resolve(stop))
  })
}

/** Resolves when nobody listens anymore, or at the deadline. */
function released(address: string, deadline: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(address)
    const onDeadline = (): void => {
      socket.destroy()
    }
    deadline.addEventListener('abort', onDeadline, { once: true })
    // Refused means that the lock was released between our two checks; a close follows, as with any other end.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      deadline.removeEventListener('abort', onDeadline)
      resolve()
    })
    socket.resume()
  })
}
