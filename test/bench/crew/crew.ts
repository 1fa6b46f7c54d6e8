import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Contestant } from '../contestants/contestant.ts'
import { type Jobs, jobNames } from './jobs.ts'
import type { Report } from './worker.ts'
import { workerProgram } from './worker-program.ts'

/** Processes that compete with each other, each with its own connections. */
export interface Crew extends AsyncDisposable {
  readonly members: readonly Jobs[]
}

/** No job takes longer; a contestant that hangs should not hang the bench. */
const jobLimitMs = 120_000

/**
 * Starts the processes, and resolves when each is connected.
 *
 * @param port of the Redis, or of whatever the contestant talks to instead
 * @param nodeArgs options for Node itself
 */
export async function startCrew(
  size: number,
  { name }: Contestant,
  port: number,
  nodeArgs: readonly string[] = [],
): Promise<Crew> {
  const { file, execPath = process.execPath } = workerProgram()
  const children = Array.from({ length: size }, () =>
    fork(file, [String(port), name], {
      execPath,
      execArgv: [...nodeArgs],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    }),
  )
  const end = async (): Promise<void> => {
    await Promise.all(children.map(endProcess))
  }
  try {
    const started = children.map((child) => member(child))
    await Promise.all(started.map(({ ready }) => ready))
    return { members: started.map(({ jobs }) => jobs), [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

function member(child: ChildProcess): { readonly jobs: Jobs; readonly ready: Promise<unknown> } {
  const awaited = new Map<number, (report: Report) => void>()
  let last = 0
  child.on('message', (report: Report) => awaited.get(report.id)?.(report))
  child.on('exit', () => {
    for (const [id, settle] of awaited) settle({ id, problem: 'The process has ended' })
  })

  const reported = (id: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle({ id, problem: `No answer within ${jobLimitMs} ms` }), jobLimitMs)
      const settle = ({ answer, problem }: Report): void => {
        clearTimeout(timer)
        awaited.delete(id)
        if (problem === undefined) resolve(answer)
        else reject(new Error(problem))
      }
      awaited.set(id, settle)
    })
  const ask = (job: keyof Jobs) => (order: unknown) => {
    const id = ++last
    child.send({ id, job, order })
    return reported(id)
  }
  return {
    ready: reported(0),
    jobs: Object.fromEntries(jobNames.map((job) => [job, ask(job)])) as unknown as Jobs,
  }
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
