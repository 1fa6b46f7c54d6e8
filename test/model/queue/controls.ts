import * as naive from './naive-rules.ts'
import * as played from './scenarios.ts'
import { type Behaviour, type Faults, type Load, readWrite, semaphoreOf } from './setting.ts'
import type { Setting } from './world.ts'

/**
 * A rule or a behavior in a naive form, and how the runs show it: the name of an invariant, or a figure that gets
 * worse.
 */
export interface Control {
  readonly sound: Setting
  readonly naive: Setting
  readonly shows:
    | 'store'
    | 'exclusion'
    | 'order'
    | 'turn'
    | 'starved'
    | 'try'
    | 'recoveryMs'
    | 'waitMs'
    | 'passedOver'
    | 'perGrant'
    | 'work'
  /** The number of runs needed to show it. */
  readonly seeds: number
}

/** Enough for most. */
const usualSeeds = 8

function withRules(
  faults: Partial<Faults>,
  load: Partial<Load>,
  rules: Setting['rules'],
  shows: Control['shows'],
  seeds: number = usualSeeds,
): Control {
  const { settingOf } = played
  return { sound: settingOf(faults, load), naive: settingOf(faults, load, {}, rules), shows, seeds }
}

function behaving(
  faults: Partial<Faults>,
  load: Partial<Load>,
  behaviour: Partial<Behaviour>,
  shows: Control['shows'],
  seeds: number = usualSeeds,
): Control {
  const { settingOf } = played
  return { sound: settingOf(faults, load), naive: settingOf(faults, load, behaviour), shows, seeds }
}

const { crowd, front, flapping, lateAndFrozen, mute, setBack, unpolled } = played
const longFreeze: Partial<Faults> = { frozen: 1, freezeMs: [25_000, 25_000] }
const permits: Partial<Load> = { kind: semaphoreOf(3), clients: 60, arriveMs: 1_000, holdMs: [20, 100], longHolds: 0 }
const shared: Partial<Load> = { kind: readWrite, clients: 60, arriveMs: 1_000, holdMs: [20, 100], longHolds: 0 }
const held: Partial<Load> = { clients: 40, holdMs: [3_000, 6_000], longHolds: 0, ttls: [3_000] }
const ranked: Partial<Load> = { clients: 100, classes: 4, arriveMs: 12_000, holdMs: [60, 180], longHolds: 0 }
const brief: Partial<Load> = { holdMs: [20, 60], longHolds: 0 }

/** Each must fail where the real rules do not. */
export const controls: Readonly<Record<string, Control>> = {
  'a lock that is held counts as free': withRules({}, {}, naive.HeldUncounted, 'store'),
  'permits that are held count as free': withRules({}, permits, naive.HeldUncounted, 'store'),
  'a better class goes first, however late': withRules({}, ranked, naive.StrictPriority, 'order'),
  'all classes are alike': withRules({}, ranked, naive.NoPriority, 'order'),
  'a better class takes a turn away': withRules({ messageLoss: 0.3 }, ranked, naive.TurnsTaken, 'turn'),
  'who leaves says so once': behaving(
    { aborts: 0.5, requestLoss: 0.2, messageLoss: 1 },
    { ...crowd, arriveMs: 3_000 },
    { repeatsLeave: false },
    'recoveryMs',
    12,
  ),
  'who is spent asks for the same again': behaving(
    { replyLoss: 0.2 },
    { ...brief, ttls: [300] },
    { drawsAgain: false },
    'starved',
  ),
  'no recheck': behaving({ messageLoss: 0.3 }, {}, { rechecks: false }, 'starved'),
  'a lease is dated by the arrival of its answer': behaving(lateAndFrozen, {}, { dating: 'answered' }, 'exclusion'),
  'who is not heard of stays': withRules({ killed: 30, uncounted: true }, crowd, naive.Immortal, 'recoveryMs'),
  'whoever asks first has the lock': withRules({}, {}, naive.FirstCome, 'order'),
  'whoever asks first has a permit': withRules({}, permits, naive.FirstCome, 'order'),
  'whoever asks first reads or writes': withRules({}, shared, naive.FirstCome, 'order'),
  'a permit that fits goes past who waits for more': withRules({}, permits, naive.Skipping, 'order'),
  'readers go past a writer': withRules({}, shared, naive.Skipping, 'order'),
  'turns are not counted': withRules({}, {}, naive.TurnsUncounted, 'perGrant'),
  'turns are not counted, of a semaphore': withRules({}, permits, naive.TurnsUncounted, 'perGrant'),
  'turns are not counted, of readers and writers': withRules({}, shared, naive.TurnsUncounted, 'perGrant'),
  'a turn not taken is given again': withRules(longFreeze, front, naive.GivenAgain, 'recoveryMs'),
  'a turn not taken is given again, of a semaphore': withRules(
    longFreeze,
    { ...front, ...permits, processes: 4 },
    naive.GivenAgain,
    'waitMs',
  ),
  'a turn not taken is given again, of readers and writers': withRules(
    longFreeze,
    { ...front, kind: readWrite },
    naive.GivenAgain,
    'recoveryMs',
  ),
  'only one waiter is dropped for a turn not taken': withRules(longFreeze, front, naive.OneDropped, 'recoveryMs'),
  'only one writer is dropped for a turn not taken': withRules(
    longFreeze,
    { ...front, kind: readWrite },
    naive.OneDropped,
    'recoveryMs',
    20,
  ),
  'a mute process is passed over until it is heard of': withRules(...mute, naive.Silent, 'waitMs'),
  'a mute process has its turn again': withRules(...mute, naive.GivenAgain, 'recoveryMs'),
  'who hears nothing asks on': behaving(mute[0], { ...mute[1], holdMs: [0, 5] }, { cautious: false }, 'recoveryMs'),
  'a flapping process keeps its places': withRules(...flapping, naive.PlacesKept, 'waitMs'),
  'a voided inbox is the same again': withRules(
    flapping[0],
    { ...flapping[1], firstEarly: false },
    naive.OneGeneration,
    'waitMs',
  ),
  'a turn that a plain acquire overtook counts as not taken': withRules(
    { plain: 0.3 },
    held,
    naive.OvertakenIsMissed,
    'passedOver',
  ),
  'a turn that a smaller capacity overtook counts as not taken': withRules(
    { resizes: 8, resizeTo: [2, 4], messageLoss: 0.5 },
    { ...permits, holdMs: [2_000, 5_000], ttls: [10_000] },
    naive.OvertakenIsMissed,
    'passedOver',
    24,
  ),
  'who wants more than there is stays': withRules({ resizes: 4 }, permits, naive.Hopeless, 'recoveryMs'),
  'a turn that nobody wants is kept': behaving(
    { aborts: 0.5, duplicate: 0.2, late: 0.1 },
    brief,
    { unwanted: false },
    'recoveryMs',
  ),
  'waiters are named by their answers': behaving(
    {},
    { clients: 100, holdMs: [0, 2], longHolds: 0, arriveMs: 1_000 },
    { ownNames: false },
    'passedOver',
    16,
  ),
  'the silence of an inbox is ignored': withRules({ killed: 30 }, crowd, naive.SilenceIgnored, 'recoveryMs'),
  'an inbox that was never counted is believed dead': withRules(
    { uncounted: true },
    {},
    naive.SilenceBelieved,
    'passedOver',
  ),
  'the bridge keeps nobody alive': behaving(
    {},
    { clients: 30, http: 1, holdMs: [1_500, 2_500], longHolds: 0, arriveMs: 500 },
    { bridgeKeeps: false },
    'passedOver',
    2,
  ),
  'who never polls lives for 18 s': behaving(...unpolled, { shortFirst: false }, 'recoveryMs'),
  'the clock is set back, and the queue follows it': withRules(...setBack, naive.ServerTime, 'order'),
  'a recheck of 3 s': behaving(
    { messageLoss: 1, requestLoss: 0.05, replyLoss: 0.05, late: 0.03, duplicate: 0.03 },
    {},
    { recheckMs: 3_000 },
    'passedOver',
  ),
  'the timer does not know when a turn ends': {
    sound: played.settingOf({ frozen: 1 }, front, { recheckMs: 3_000 }),
    naive: played.settingOf({ frozen: 1 }, front, { recheckMs: 3_000 }, naive.TurnEndUnknown),
    shows: 'recoveryMs',
    seeds: usualSeeds,
  },
  'nobody is told that more is left to drop': withRules(
    { killed: 1 },
    { ...front, clients: 200 },
    naive.MoreUntold,
    'recoveryMs',
  ),
  'one request gives all turns that fit': withRules({}, { ...shared, clients: 200 }, naive.EndlessTurns, 'work'),
  'one request drops all who are dead': withRules(
    { killed: 1 },
    { ...front, clients: 200 },
    naive.EndlessDrops,
    'work',
  ),
  'a look names all waiters of a process': behaving({}, { processes: 1 }, { named: Infinity }, 'work'),
  'who does not wait goes first': withRules({ tries: 0.3 }, {}, naive.TriesGoFirst, 'try'),
  'who does not wait goes first, of a semaphore': withRules({ tries: 0.3 }, permits, naive.TriesGoFirst, 'try'),
}
