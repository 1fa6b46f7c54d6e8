import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StressOrders, StressReport } from './orders.ts'

type Done = Extract<StressReport, { readonly type: 'done' }>

/** How much longer than the test a process may run, in milliseconds: it has to start, connect, wait and report. */
const defaultGraceMs = 30_000

const defaultProgram = fileURLToPath(new URL(`../bin/stress-process${extname(import.meta.url)}`, import.meta.url))

/**
 * Runs `count` processes, and resolves to what each did. Whatever happens, all have ended by the time it settles.
 *
 * @throws Error if a process ends without a report or does not report in time, or the signal's reason
 */
export async function runProcesses(
  count: number,
  orders: StressOrders,
  signal: AbortSignal,
  { program = defaultProgram, graceMs = defaultGraceMs }: { readonly program?: string; readonly graceMs?: number } = {},
): Promise<readonly Done[]> {
  const children: ChildProcess[] = []
  try {
    signal.throwIfAborted()
    return await Promise.all(
      Array.from({ length: count }, (_, at) => {
        // No arguments and no flags: the secrets in the orders go by a message.
        const child = fork(program, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] })
        children.push(child)
        return reportOf(child, `process ${at + 1} of ${count} (pid ${child.pid})`, orders, graceMs, signal)
      }),
    )
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map(ended))
  }
}

/** @param name identifies the process in the error that ends the test */
function reportOf(
  child: ChildProcess,
  name: string,
  { callers, ...orders }: StressOrders,
  graceMs: number,
  signal: AbortSignal,
): Promise<Done> {
  const forS = orders.forMs / 1_000
  const over = new AbortController()
  let isConnected = false
  const reporting = new Promise<Done>((resolve, reject) => {
    const fail = (what: string): void => reject(new Error(`${name} of the test ${what}`))
    const isSilent = (): void => {
      const waited = `within ${forS + graceMs / 1_000} s. It was to contend for ${forS} s with ${callers} callers`
      fail(isConnected ? `connected, and did not report ${waited}` : `did not connect ${waited}`)
    }
    const limit = AbortSignal.timeout(orders.forMs + graceMs)
    limit.addEventListener('abort', isSilent, { signal: over.signal })
    signal.addEventListener('abort', () => reject(signal.reason), { signal: over.signal })
    child.on('message', (report: StressReport) => {
      if (report.type === 'ready') isConnected = true
      if (report.type === 'done') resolve(report)
      if (report.type === 'failed') fail(`failed: ${report.reason}`)
    })
    child.once('error', reject)
    child.once('exit', (code, killedBy) => fail(`ended with ${killedBy ?? code} and without a report`))
    child.send({ callers, ...orders }, (error) => error && reject(error))
  })
  return reporting.finally(() => over.abort())
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) resolve()
    else child.once('exit', () => resolve())
  })
