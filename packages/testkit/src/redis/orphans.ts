import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'

/*
 * A test run must leave nothing behind, however it ends. A process that exits normally runs its `exit` hook. A process
 * that is killed cannot, so a shell waits beside each server, holding the reading end of a pipe whose other end is
 * ours. The system closes our end when we die, and the shell then does what we could not.
 */

const servers = new Set<ChildProcess>()
/** Folders of servers that run, or have ended and may be started again. */
const folders = new Set<string>()

/** Kills `child` and removes `folder` when this process ends, whether it exits or is killed. */
export function endWithParent(child: ChildProcess, folder: string): void {
  if (folders.size === 0) process.on('exit', cleanUp)
  servers.add(child)
  folders.add(folder)

  // A line means that the server has ended; the end of the pipe without a line, that we have.
  const script = 'read -r line || { kill -9 "$0"; rm -rf "$1"; }'
  const shell = spawn('sh', ['-c', script, String(child.pid), folder], {
    // None of our own variables: whoever kills all processes with them would end the shell before its work is done.
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a process group of its own, so that a signal to our group does not end it before its work is done.
    detached: true,
  })
  // Without a shell, the hook remains. The pipe breaks if the shell was killed first.
  shell.on('error', () => undefined)
  shell.stdin.on('error', () => undefined)
  shell.unref()
  ;(shell.stdin as unknown as { unref(): void }).unref()

  child.once('exit', () => {
    shell.stdin.end('ended\n')
    servers.delete(child)
  })
}

/** Removes a server's folder now. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  if (folders.delete(folder) && folders.size === 0) process.off('exit', cleanUp)
}

function cleanUp(): void {
  for (const server of servers) server.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}
