import type { Makings } from '#process-state'
import { inboxChannel, type KeyLayout, queueKeys } from '../redis/keys.ts'
import type { ScriptReply } from '../redis/redis-transport.ts'
import { countsSubscribers, runScript } from '../redis/run-script.ts'
import type { Script } from '../redis/scripts/script.ts'
import { only } from '../store/answered.ts'
import type {
  HeldPermitsRequest,
  LeaveRequest,
  LookRequest,
  QueuedAcquireRequest,
  QueueStore,
  ReleasePermitsRequest,
} from '../store/queue.ts'
import { priorityStepMs } from '../store/queue-figures.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { acquire } from './generated/acquire.ts'
import { inspect } from './generated/inspect.ts'
import { leave } from './generated/leave.ts'
import { look } from './generated/look.ts'
import { release } from './generated/release.ts'
import { renew } from './generated/renew.ts'
import { resize } from './generated/resize.ts'
import { jointTries } from './joint-tries.ts'
import {
  acquireOutcome,
  inspectOutcome,
  leaveOutcome,
  lookOutcome,
  releaseOutcome,
  renewOutcome,
  resizeOutcome,
} from './queue-replies.ts'
import { textOnce } from './text-once.ts'

/**
 * The queues of a Redis store, each in a few keys beside its lock. Each call is one command, on a cluster one per hash
 * tag.
 */
export function redisQueue([transport, memory]: Makings, keys: KeyLayout): QueueStore {
  const channels = inboxChannel(keys.prefix, '')
  const released = releaseOutcome(transport)
  /** A count of subscribers is believed only from a node that knows all of them. */
  const believes = (): string => (countsSubscribers(transport) ? '1' : '')
  /**
   * What a request begins with: its keys, and the channel that announces a release, or the turn of a waiter whose inbox
   * is a name only.
   */
  const of = (key: string) => [...queueKeys(keys, key), keys.releaseChannel(key)] as const

  const trying = ({ key, kind, permits, acquisitionId, ttlMs, waiter }: QueuedAcquireRequest) =>
    [
      ...of(key),
      ...[acquisitionId, String(ttlMs)],
      ...[kind.name, String(kind.capacity), String(permits)],
      waiter ? nameOf(waiter) : '',
      waiter?.listens ? '1' : '',
      ...[String(waiter?.aliveMs ?? 0), String(waiter?.windowMs ?? 0)],
      String((waiter?.priorityClass ?? 0) * priorityStepMs * 1_000),
    ] as const
  const looking = ({ key, inbox, aliveMs, numbers }: LookRequest) =>
    [...of(key), inbox, String(aliveMs), numbers.join(' ')] as const
  const leaving = ({ key, acquisitionId = '', ...waiter }: LeaveRequest) =>
    [...of(key), nameOf(waiter), acquisitionId] as const
  const extending = ({ key, token, ttlMs }: HeldPermitsRequest) =>
    [...queueKeys(keys, key), token, String(ttlMs)] as const
  const ending = ({ key, exclusive, token, keep }: ReleasePermitsRequest) =>
    [...of(key), token, exclusive ? '1' : '', String(keep)] as const

  // Tries and leaves come in bursts.
  const [toAcquire, toLeave] = [textOnce(transport, acquire), textOnce(transport, leave)]
  /** Sends one request that is already encoded. */
  async function one<Args extends string[], Keys extends string[], Each extends string[], O>(
    script: Script<Args, Keys, Each>,
    args: Args,
    keyCount: Keys['length'],
    request: readonly [...Keys, ...Each],
    decode: (reply: ScriptReply) => O,
    call: CallDeadline,
    via = transport,
  ): Promise<O> {
    return (await only(runScript(via, script, args, keyCount, [request], (it) => it, decode, call))) as O
  }

  return {
    acquire: jointTries(
      (key) => transport.nodeOf(keys.lock(key)),
      async (requests: readonly QueuedAcquireRequest[], call) => {
        const args: [string, string, string] = [memory, channels, believes()]
        const replies = await runScript(toAcquire, acquire, args, 6, requests, trying, (reply) => reply, call)
        return requests.map((request, at) => acquireOutcome(request)(replies[at] as ScriptReply))
      },
    ),
    look: async (requests, call) =>
      runScript(transport, look, [channels, believes()], 6, requests, looking, lookOutcome, call),
    leave: async (request, call) =>
      one(leave, [channels, believes()], 6, leaving(request), leaveOutcome, call, toLeave),
    renew: async (requests, call) => runScript(transport, renew, [memory], 6, requests, extending, renewOutcome, call),
    release: async (requests, call) =>
      runScript(transport, release, [channels, believes()], 6, requests, ending, released, call),
    resize: async (key, kind, call) => {
      const request = [...of(key), kind.name, String(kind.capacity)] as const
      return one(resize, [channels, believes()], 6, request, resizeOutcome(kind), call)
    },
    inspect: async (key, call) => {
      const [lock, , queue, waiters, , state] = queueKeys(keys, key)
      return one(inspect, [], 4, [lock, queue, waiters, state], inspectOutcome, call)
    },
  }
}

const nameOf = ({ inbox, number }: { readonly inbox: string; readonly number: number }): string => `${inbox}.${number}`
