import type { RunningWorker } from '@leasehold/example-local/workerd'
import { soak } from '../../../test/support/scale.ts'
import type { Burst } from './burst.ts'
import { ask, patiently, payment, type Reply, type Setting, startPaymentWorker } from './setting.ts'

/** What a Worker tells its operator about a key in doubt. */
export interface Doubt {
  readonly type: 'in-doubt'
  /** The record's name. */
  readonly key: string
  readonly decision: string
}

/** A burst at a Worker that was killed. */
export interface KilledBurst extends AsyncDisposable {
  /** The last reply to each request, in the order of the burst's. */
  readonly replies: readonly Reply[]
  /** What the operator has been told so far: the log comes over a connection of its own. */
  readonly doubts: readonly Doubt[]
}

/** The Worker of a burst that goes on. */
export interface DoomedWorker {
  /** How many requests wait for their answers. */
  waiting(): number
  kill(): Promise<void>
}

/**
 * Sends a burst to a Worker, and lets the test kill it. Another with the same policy takes its place. A client whose
 * connection broke asks again there, as does one that was told to come back.
 *
 * @param course what happens during the burst; kills the Worker
 */
export async function killedBurst(
  setting: Setting,
  { requests, records }: Burst,
  policy: 'reject' | 'rerun',
  course: (worker: DoomedWorker) => Promise<void>,
): Promise<KilledBurst> {
  const doubts: Doubt[] = []
  const onLog = (line: string): void => {
    if (line.startsWith('{"type":"in-doubt"')) doubts.push(JSON.parse(line) as Doubt)
  }
  const start = (): Promise<RunningWorker> => startPaymentWorker({ ...setting.bindings, IN_DOUBT: policy }, onLog)
  const first = await start()
  const second = Promise.withResolvers<RunningWorker>()
  let waiting = 0

  async function send(worker: RunningWorker, key: string): Promise<Reply> {
    waiting++
    try {
      const init = { method: 'POST', headers: { 'idempotency-key': key }, body: JSON.stringify(payment) }
      return await ask(worker, '/payments', init)
    } finally {
      waiting--
    }
  }
  async function client(key: string): Promise<Reply> {
    try {
      return await patiently(() => send(first, key))
    } catch (error) {
      // That is how `fetch` tells of a connection that broke.
      if (!(error instanceof TypeError)) throw error
      const worker = await second.promise
      return patiently(() => send(worker, key))
    }
  }
  const asking = Promise.all(requests.map(client))
  await course({ waiting: () => waiting, kill: async () => first[Symbol.asyncDispose]() })
  // The dead Worker's leases last for 30 s. A soak lets its clients wait for that.
  if (!soak) await setting.redis.command('DEL', ...records.map((record) => `lock:${record}`))
  const other = await start()
  second.resolve(other)
  return { replies: await asking, doubts, [Symbol.asyncDispose]: () => other[Symbol.asyncDispose]() }
}
