import { type LocalProcess, startNodeProgram } from '@leasehold/example-local/node-program'
import type { Entry } from '../src/ledger.ts'

const main = new URL('../src/main.ts', import.meta.url)

/** Starts a worker as a process of its own. */
export const startWorker = (redisUrl: string, name: string): Promise<LocalProcess> =>
  startNodeProgram(main, { REDIS_URL: redisUrl, WORKER_NAME: name, LOCK_TTL: '2s', WORK_MS: '50', TICK_MS: '50' })

export async function get<T>(worker: LocalProcess, path: string): Promise<T> {
  return (await (await fetch(worker.url + path)).json()) as T
}

/** What all workers have done, as far as it begins so. */
export async function ledger(worker: LocalProcess, beginning: string): Promise<readonly Entry[]> {
  return (await get<readonly Entry[]>(worker, '/ledger')).filter(({ did }) => did.startsWith(beginning))
}
