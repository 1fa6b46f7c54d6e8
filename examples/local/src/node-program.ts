import type { SpawnOptions } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type LocalProcess, startProcess } from './local-process.ts'

export type { LocalProcess } from './local-process.ts'

/**
 * Starts a Node program on a free port and resolves when it listens.
 *
 * @param onMessage called with what the program reports over a channel. The channel closes when this process ends, and
 *   then the program ends, too
 */
export async function startNodeProgram(
  main: URL,
  env: NodeJS.ProcessEnv,
  onMessage?: (message: unknown) => void,
): Promise<LocalProcess> {
  const options: SpawnOptions = {
    env: { PORT: '0', ...env },
    // Not this process's stderr: a test runner waits until nobody has it open.
    stdio: ['ignore', 'pipe', 'pipe', onMessage ? 'ipc' : 'ignore'],
    // A separate process group: Ctrl-C in a terminal goes to this process, which stops the program in order.
    detached: onMessage !== undefined,
  }
  const onComplaint = (line: string): void => console.error(line)
  const { child, running } = await startProcess(process.execPath, [fileURLToPath(main)], options, { onComplaint })
  if (onMessage) child.on('message', onMessage)
  return running
}
