import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/**
 * Makes the engine's own call. Not before it is needed: in a process that has made a second context, the engine shrinks the
 * young generation whenever the process is idle.
 */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

/** Bytes of heap in use once everything unreachable is gone. */
export async function heapBytes(): Promise<number> {
  collect ??= collector()
  for (let round = 0; round < 3; round++) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}
