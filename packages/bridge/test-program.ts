import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface RunningProgram {
  readonly child: ChildProcess
  /** Rejects if the program ends without one. */
  readonly firstLine: Promise<string>
  /** Its exit code, and what it wrote. */
  readonly ended: Promise<{ code: number | null; out: string; err: string }>
}

/** Starts a program of this package. Kill its child when the test is over. */
export function runProgram(
  main: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningProgram {
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env['PATH'], ...env } })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, err }))
  const lines = createInterface({ input: child.stdout })
  const firstLine = Promise.race([
    once(lines, 'line').then(([line]) => line as string),
    ended.then((what) => Promise.reject(new Error(`It ended: ${JSON.stringify(what)}`))),
  ])
  firstLine.catch(() => undefined)
  return { child, firstLine, ended }
}
