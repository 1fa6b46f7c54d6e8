import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A program that prints the address it listens on among its first lines. */
export interface LocalProcess extends AsyncDisposable {
  readonly pid: number
  readonly url: string
  /** The line with the address. */
  readonly greeting: string
  kill(signal: NodeJS.Signals): void
  /**
   * Asks the program to end, and kills it if that takes too long. Resolves to its exit code, or to null if a signal
   * ended it.
   */
  stop(): Promise<number | null>
}

interface ProcessOptions {
  /** Matches the line with the address, which is its first group. */
  readonly greeting?: RegExp
  /** Called with each line on stderr once the program listens; default: lines are dropped. */
  readonly onComplaint?: (line: string) => void
}

/** Our programs give themselves 10 s to end. */
const stopDeadlineMs = 12_000

/**
 * An environment with the Node that runs this process, and what a test run passes on: the mark by which it finds the
 * processes it started, and where Node keeps the modules it has compiled.
 */
export const environment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
  LEASEHOLD_TEST_RUN: process.env['LEASEHOLD_TEST_RUN'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  ...more,
})

/**
 * Starts a program, and resolves when it has printed the address it listens on.
 *
 * @throws Error with the program's output if it ends before that
 */
export async function startProcess(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'detached' | 'env' | 'stdio'> = {},
  { greeting = /(http:\/\/[^\s"]+)/, onComplaint = () => undefined }: ProcessOptions = {},
): Promise<{ readonly child: ChildProcess; readonly running: LocalProcess }> {
  const { env, stdio = ['ignore', 'pipe', 'pipe'], ...others } = options
  const child = spawn(command, args, { ...others, stdio, env: environment(env) })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  let output: string | undefined = ''
  const greeted = Promise.withResolvers<readonly [line: string, url: string]>()
  for (const stream of [child.stdout, child.stderr]) {
    // Read to the end, so that the pipe never fills up.
    if (!stream) continue
    createInterface({ input: stream }).on('line', (line) => {
      if (output === undefined) return stream === child.stderr ? onComplaint(line) : undefined
      output += `${line}\n`
      // Only on stdout: an error may name an address, too.
      const url = stream === child.stdout ? greeting.exec(line)?.[1] : undefined
      if (url !== undefined) greeted.resolve([line, url])
    })
  }
  const early = (code: number | null): Error => new Error(`It ended with code ${code} before it listened:\n${output}`)
  ended.then((code) => greeted.reject(early(code)), greeted.reject)
  const [line, url] = await greeted.promise
  output = undefined

  async function stop(): Promise<number | null> {
    child.kill('SIGTERM')
    // A frozen process gets SIGTERM only when it resumes.
    child.kill('SIGCONT')
    const force = setTimeout(() => child.kill('SIGKILL'), stopDeadlineMs)
    const code = await ended
    clearTimeout(force)
    return code
  }
  const running: LocalProcess = {
    pid: child.pid as number,
    url,
    greeting: line,
    kill: (signal) => void child.kill(signal),
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
    },
  }
  return { child, running }
}

const bins = fileURLToPath(new URL('../node_modules/.bin', import.meta.url))

/** Starts a program of `@leasehold/bridge` at a free port. */
export async function startBeside(
  program: 'leasehold-bridge' | 'leasehold-gateway',
  env: NodeJS.ProcessEnv,
): Promise<LocalProcess> {
  // Tokens go into the environment: other users of the machine could read them on the command line.
  return (await startProcess(join(bins, program), ['--port', '0'], { env })).running
}
