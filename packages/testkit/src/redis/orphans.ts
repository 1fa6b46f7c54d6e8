import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'

/*
 * Nothing may be left behind by a test run, however it ends. A process that ends in order runs its `exit` hook; one that
 * is killed cannot, so a shell waits beside each server, holding the reading end of a pipe whose other end is ours. The
 * system closes ours when we die, and the shell then does what we could not.
 */

/** The folders of running servers, by process. */
const running = new Map<ChildProcess, string>()

/** Kills `child` and removes `folder` when this process ends, whether in order or killed. */
export function killWithParent(child: ChildProcess, folder: string): void {
  if (running.size === 0) process.on('exit', killAll)
  running.set(child, folder)

  // A line means that the server has ended by itself; the end of the pipe without one, that we have.
  const script = 'read -r line || { kill -9 "$0"; rm -rf "$1"; }'
  const shell = spawn('sh', ['-c', script, String(child.pid), folder], { stdio: ['pipe', 'ignore', 'ignore'] })
  // Without a shell there is still the hook. The pipe breaks if the shell was killed first.
  shell.on('error', () => undefined)
  shell.stdin.on('error', () => undefined)
  shell.unref()
  ;(shell.stdin as unknown as { unref(): void }).unref()

  child.once('exit', () => {
    shell.stdin.end('ended\n')
    running.delete(child)
    if (running.size === 0) process.off('exit', killAll)
  })
}

function killAll(): void {
  for (const [child, folder] of running) {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}
