import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Ended {
  readonly code: number | null
  readonly lines: readonly string[]
  readonly err: string
  /** How long the program took to end after its last line, in milliseconds. */
  readonly lingeredMs: number
}

/** A separate process. Kill it when the test is over. */
export interface RunningProgram {
  /** What it has printed so far. */
  readonly lines: readonly string[]
  /** Resolves with the first line that matches; rejects if the program ends without one. */
  line(pattern: RegExp): Promise<string>
  readonly ended: Promise<Ended>
  /** Asks the program to end. */
  terminate(): void
  kill(): Promise<void>
}

/** Runs a program whose environment has nothing of ours except the mark of the run and `more`. */
export function runProgram(command: readonly string[], folder: string, more: NodeJS.ProcessEnv = {}): RunningProgram {
  const [binary = '', ...args] = command
  const { LEASEHOLD_TEST_RUN } = process.env
  const env = { HOME: folder, DENO_DIR: `${folder}/deno`, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
  const child = spawn(binary, args, { cwd: folder, env: { LEASEHOLD_TEST_RUN, ...env, ...more } })
  const lines: string[] = []
  let err = ''
  let lastLineAt = performance.now()
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const output = createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    lastLineAt = performance.now()
  })
  const ended = once(child, 'close').then(
    ([code]): Ended => ({ code: code as number | null, lines, err, lingeredMs: performance.now() - lastLineAt }),
  )
  return {
    lines,
    async line(pattern) {
      const over = ended.then((what) => Promise.reject(new Error(`It ended: ${JSON.stringify(what)}`)))
      over.catch(() => undefined)
      for (let seen = 0; ; seen++) {
        if (seen === lines.length) await Promise.race([once(output, 'line'), over])
        const line = lines[seen] as string
        if (pattern.test(line)) return line
      }
    },
    ended,
    terminate: () => void child.kill('SIGTERM'),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
