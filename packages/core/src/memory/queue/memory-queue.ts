import type { QueueStore } from '../../store/queue.ts'
import type { LockKeeper } from '../lock-keeper.ts'
import { answer } from '../tables.ts'
import { inspect, release, renew, resize } from './having.ts'
import { LockQueue } from './lock-queue.ts'
import { type MakeQueue, QueueVisit } from './queue-visit.ts'
import { acquire, leave, look } from './waiting.ts'

/** The queues of a memory store. The Redis scripts follow them step by step. `makeQueue` provides the rules. */
export function memoryQueue(keeper: LockKeeper, makeQueue: MakeQueue = (kind) => new LockQueue(kind)): QueueStore {
  function visited<T>(key: string, carryOut: (visit: QueueVisit) => T): T {
    const visit = new QueueVisit(keeper, key, makeQueue)
    const outcome = carryOut(visit)
    visit.end()
    return outcome
  }
  const each =
    <R extends { readonly key: string }, T>(carryOut: (visit: QueueVisit, request: R) => T) =>
    (request: R) =>
      visited(request.key, (visit) => carryOut(visit, request))
  const [acquired, looked, left, renewed, released] = [
    each(acquire),
    each(look),
    each(leave),
    each(renew),
    each(release),
  ]
  return {
    acquire: async (request, call) => answer(call, () => acquired(request)),
    look: async (requests, call) => requests.map((request) => answer(call, () => looked(request))),
    leave: async (request, call) => answer(call, () => left(request)),
    renew: async (requests, call) => requests.map((request) => answer(call, () => renewed(request))),
    release: async (requests, call) => requests.map((request) => answer(call, () => released(request))),
    resize: async (key, kind, call) => answer(call, () => visited(key, (visit) => resize(visit, kind))),
    inspect: async (key, call) => answer(call, () => inspect(new QueueVisit(keeper, key, makeQueue))),
  }
}
