import type { Makings } from '#process-state'
import { type KeyLayout, roomKeys } from '../redis/keys.ts'
import { runScript } from '../redis/run-script.ts'
import { only } from '../store/answered.ts'
import type {
  EnterOutcome,
  EnterRequest,
  EntryRequest,
  LeaveRoomRequest,
  LookRoomRequest,
  PresenceStore,
} from '../store/presence.ts'
import { acquisitionIdOf, cursorOf, randomPart } from '../store/token.ts'
import { enter } from './generated/enter.ts'
import { leave } from './generated/leave.ts'
import { look } from './generated/look.ts'
import { renew } from './generated/renew.ts'
import { enterOutcome, leaveOutcome, lookOutcome, renewOutcome } from './presence-replies.ts'

/**
 * The rooms of a Redis store, each in two keys of one slot. A call is one command, or on a cluster one per hash tag.
 */
export function redisPresence([transport, memory]: Makings, keys: KeyLayout): PresenceStore {
  const left = leaveOutcome(transport)

  const entering = (request: EnterRequest) => {
    const { key, acquisitionId, ttlMs, role, userId, sessionId, exclusive, takeOver } = request
    const whom = takeOver === 'nobody' ? '' : takeOver
    return [
      ...roomKeys(keys, key),
      ...[keys.releaseChannel(key), acquisitionId, String(ttlMs)],
      ...[role, userId, sessionId, exclusive ? '1' : '', whom],
    ] as const
  }
  const extending = ({ key, token, ttlMs }: EntryRequest) =>
    [...roomKeys(keys, key), ...entryIn(token), String(ttlMs)] as const
  const ending = (request: LeaveRoomRequest) => {
    const entry = 'token' in request ? entryIn(request.token) : ([randomPart(request.acquisitionId), ''] as const)
    return [...roomKeys(keys, request.key), keys.releaseChannel(request.key), ...entry] as const
  }
  const looking = ({ key, version = '', role = '', userId = '' }: LookRoomRequest) =>
    [...roomKeys(keys, key), version, role, userId] as const

  return {
    enter: async (request, call) =>
      (await only(runScript(transport, enter, [memory], 2, [request], entering, enterOutcome, call))) as EnterOutcome,
    renew: async (requests, call) => runScript(transport, renew, [memory], 2, requests, extending, renewOutcome, call),
    leave: async (requests, call) => runScript(transport, leave, [memory], 2, requests, ending, left, call),
    look: async (requests, call) => runScript(transport, look, [], 2, requests, looking, lookOutcome, call),
  }
}

/** What identifies a token's entry to the scripts: the random part of its acquisition id, and its fence. */
const entryIn = (token: string): readonly [random: string, fence: string] => [
  randomPart(acquisitionIdOf(token)),
  cursorOf(token),
]
