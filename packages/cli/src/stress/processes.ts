import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StressOrders, StressReport } from './orders.ts'

type Done = Extract<StressReport, { readonly type: 'done' }>

/** How much longer than it is to take a process may be on its way, in milliseconds: it starts, connects, waits and reports. */
const graceMs = 30_000

const program = fileURLToPath(new URL(`../bin/stress-process${extname(import.meta.url)}`, import.meta.url))

/**
 * Runs so many processes, and answers what each did. All of them have ended by then, whatever happens.
 *
 * @throws Error if one ends without a report, or the signal's reason
 */
export async function runProcesses(count: number, orders: StressOrders, signal: AbortSignal): Promise<readonly Done[]> {
  const children: ChildProcess[] = []
  const limit = AbortSignal.any([signal, AbortSignal.timeout(orders.forMs + graceMs)])
  try {
    return await Promise.all(
      Array.from({ length: count }, () => {
        // No arguments and no flags of ours: the secrets in the orders go by a message.
        const child = fork(program, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] })
        children.push(child)
        return reportOf(child, orders, limit)
      }),
    )
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map(ended))
  }
}

function reportOf(child: ChildProcess, orders: StressOrders, limit: AbortSignal): Promise<Done> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(limit.reason)
    limit.addEventListener('abort', stop, { once: true })
    child.on('message', (report: StressReport) => {
      if (report.type === 'done') resolve(report)
      if (report.type === 'failed') reject(new Error(report.reason))
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`a process of the test ended with ${code} and without a report`)))
    child.send(orders, (error) => error && reject(error))
  })
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) resolve()
    else child.once('exit', () => resolve())
  })
