import { fileURLToPath } from 'node:url'
import { type LocalProcess, startProcess } from './local-process.ts'

export type { LocalProcess } from './local-process.ts'

/**
 * Starts a Node program on a free port and resolves when it listens.
 *
 * @param onMessage gets what the program reports over a channel. When that closes, as we have ended, the program ends too
 */
export async function startNodeProgram(
  main: URL,
  env: NodeJS.ProcessEnv,
  onMessage?: (message: unknown) => void,
): Promise<LocalProcess> {
  const { child, running } = await startProcess(process.execPath, [fileURLToPath(main)], {
    env: { PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit', onMessage ? 'ipc' : 'ignore'],
    // A group of its own: Ctrl-C in a terminal goes to us, and we stop the program in order.
    detached: onMessage !== undefined,
  })
  if (onMessage) child.on('message', onMessage)
  return running
}
