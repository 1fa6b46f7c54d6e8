import { type LocalProcess, startNodeProgram } from '@leasehold/example-local/node-program'
import type { Entry } from '../src/ledger.ts'

const main = new URL('../src/main.ts', import.meta.url)

/** Starts a worker in its own process. */
export const startWorker = (redisUrl: string, name: string): Promise<LocalProcess> =>
  startNodeProgram(main, { REDIS_URL: redisUrl, WORKER_NAME: name, LOCK_TTL: '2s', WORK_MS: '50', TICK_MS: '50' })

export async function get<T>(worker: LocalProcess, path: string): Promise<T> {
  return (await (await fetch(worker.url + path)).json()) as T
}

/** The ledger's entries of all workers that begin with a prefix. */
export async function ledger(worker: LocalProcess, beginning: string): Promise<readonly Entry[]> {
  return (await get<readonly Entry[]>(worker, '/ledger')).filter(({ did }) => did.startsWith(beginning))
}
