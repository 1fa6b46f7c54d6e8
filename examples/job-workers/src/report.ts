import { once } from '@leasehold/core/once'
import type { Worker } from './work.ts'

export interface Report {
  readonly month: string
  readonly builtBy: string
  readonly rows: readonly number[]
}

/**
 * The report of a month. However many ask for it at once, on whatever workers, it is built once, and kept for an hour.
 */
export function report(worker: Worker, month: string): Promise<Report> {
  return once(worker.locks, `report:${month}`, ({ signal }) => build(worker, month, signal), { keep: '1h', wait: '1m' })
}

async function build({ name, ledger, work }: Worker, month: string, signal: AbortSignal): Promise<Report> {
  await work(signal)
  await ledger.write(`built the report of ${month}`)
  return { month, builtBy: name, rows: [1, 2, 3] }
}
