import { LockQueue } from '../../../packages/core/src/memory/queue/lock-queue.ts'
import {
  type Behaviour,
  bounds,
  type Faults,
  type Load,
  noFaults,
  readWrite,
  ruled,
  semaphoreOf,
  usualLoad,
} from './setting.ts'
import type { Setting } from './world.ts'

export interface Scenario {
  readonly setting: Setting
  /** The longest recovery, in milliseconds; none where holders themselves may die with a long ttl. */
  readonly recoveryMs: number | undefined
  /** The most commands that a grant may cost, on average over the seeds. */
  readonly budget: number
}

const badNetwork: Partial<Faults> = {
  messageLoss: 0.3,
  requestLoss: 0.05,
  replyLoss: 0.05,
  late: 0.03,
  duplicate: 0.03,
}
const everything: Partial<Faults> = { ...badNetwork, killed: 1, frozen: 2, aborts: 0.15, plain: 0.1, tries: 0.05 }
const someFaults: Partial<Faults> = { ...badNetwork, killed: 1, frozen: 1, aborts: 0.1, tries: 0.05 }
const shortHolds: Partial<Load> = { holdMs: [20, 60], longHolds: 0 }
const thenTurnMs = 4_000 + 100

export const front: Partial<Load> = {
  processes: 4,
  firstEarly: true,
  ttls: [3_000],
  arriveMs: 1_000,
  holdMs: [60, 120],
  longHolds: 0,
}
export const crowd: Partial<Load> = { clients: 60, processes: 60, ttls: [3_000], arriveMs: 400, ...shortHolds }
export const flapping: readonly [Partial<Faults>, Partial<Load>] = [
  { frozen: 1, freezes: 30, freezeMs: [4_500, 6_000], awakeMs: [60, 200] },
  { clients: 60, processes: 3, firstEarly: true, holdMs: [100, 250], longHolds: 0, ttls: [300] },
]
export const mute: readonly [Partial<Faults>, Partial<Load>] = [
  { mute: 1 },
  { clients: 60, processes: 3, arriveMs: 300, holdMs: [60, 120], longHolds: 0, ttls: [3_000] },
]
export const lateAndFrozen: Partial<Faults> = { frozen: 3, freezeMs: [4_500, 9_000], late: 0.2 }
export const setBack: readonly [Partial<Faults>, Partial<Load>] = [
  { setBackMs: 60_000 },
  { clients: 100, classes: 4, arriveMs: 12_000, holdMs: [60, 180], longHolds: 0 },
]
export const unpolled: readonly [Partial<Faults>, Partial<Load>] = [
  { unpolled: 0.3, uncounted: true },
  { http: 0.8, ...shortHolds },
]

export const settingOf = (
  faults: Partial<Faults>,
  load: Partial<Load>,
  behaviour: Partial<Behaviour> = {},
  rules: Setting['rules'] = LittleWork,
): Setting => ({
  faults: { ...noFaults, ...faults },
  load: { ...usualLoad, ...load },
  behaviour: { ...ruled, ...behaviour },
  rules,
})

/** The real rules, except for how much of the work one request does. */
export class LittleWork extends LockQueue {
  override get mostDropped(): number {
    return bounds.mostDropped
  }

  override get mostTurns(): number {
    return bounds.mostTurns
  }
}

const scenario = (faults: Partial<Faults>, load: Partial<Load>, recoveryMs?: number, budget = 5): Scenario => ({
  setting: settingOf(faults, load),
  recoveryMs,
  budget,
})

/** The scenarios, played with every seed. All of them must succeed. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  calm: scenario({}, {}, 30, 3),
  'a hot key, with holds of 0 to 2 ms': scenario({}, { holdMs: [0, 2], longHolds: 0, arriveMs: 100 }, 30, 3),
  'long holds': scenario({}, { longHolds: 1, clients: 15 }, 30, 3),
  'of messages 30 % are lost': scenario({ messageLoss: 0.3 }, {}, 1_050, 3),
  'all messages are lost': scenario({ messageLoss: 1 }, {}, 1_050, 3),
  'a bad network': scenario(badNetwork, {}),
  'a bad network, 100 clients': scenario(badNetwork, { clients: 100, processes: 8 }),
  'late answers, and freezes': scenario(lateAndFrozen, {}),
  'the front is killed': scenario({ killed: 1 }, front, 3_000 + thenTurnMs),
  'the front is killed, nobody counts it': scenario({ killed: 1, uncounted: true }, front, 3_000 + thenTurnMs),
  'the front is frozen': scenario({ frozen: 1 }, front, 3_000 + thenTurnMs),
  'of 60 processes 30 are killed, nobody counts them': scenario(
    { killed: 30, uncounted: true },
    crowd,
    12_000 + thenTurnMs,
  ),
  'of 60 processes 30 are killed': scenario({ killed: 30 }, crowd, 12_000 + 3_000 + 100),
  'everything at once, nobody is counted': scenario({ ...everything, uncounted: true }, {}),
  'everything at once': scenario({ ...everything, deaf: 1 }, {}),
  torture: scenario(
    {
      messageLoss: 0.4,
      requestLoss: 0.1,
      replyLoss: 0.1,
      late: 0.1,
      lateMs: 15_000,
      duplicate: 0.1,
      killed: 1,
      frozen: 3,
      freezes: 2,
      aborts: 0.2,
      plain: 0.1,
      deaf: 1,
    },
    { clients: 50, processes: 7, classes: 3, http: 0.2 },
    undefined,
    7,
  ),
  priorities: scenario(someFaults, { classes: 4 }),
  'priorities, all at one instant': scenario(
    {},
    { clients: 100, arriveMs: 100, classes: 4, holdMs: [1, 5], longHolds: 0 },
    30,
    3,
  ),
  'of 80 clients 60 % are plain': scenario(
    { plain: 0.6 },
    { clients: 80, holdMs: [20, 60], longHolds: 0, arriveMs: 2_000 },
    30,
    11,
  ),
  'a flapping process': scenario(...flapping, 3_000 + thenTurnMs),
  'the clock is set back by 60 s': scenario({ ...badNetwork, frozen: 1, setBackMs: 60_000 }, {}),
  'priorities, and the clock is set back': scenario(...setBack, 30, 3),
  'a process is heard and hears nothing': scenario(...mute, 1_000 + 3_000 + thenTurnMs),
  'a restart without data': scenario({ ...badNetwork, frozen: 1, wiped: true }, {}),
  'subscribers at a replica': scenario({ uncounted: true }, {}, 30, 3),
  'HTTP and TCP': scenario({ ...badNetwork, aborts: 0.1 }, { http: 0.5 }, undefined, 5),
  'over HTTP, 30 % die before their first poll': scenario(...unpolled, 12_000 + 100, 4),
  'a semaphore of 3': scenario(someFaults, { kind: semaphoreOf(3) }),
  'a semaphore that is resized': scenario({ ...someFaults, resizes: 4 }, { kind: semaphoreOf(3) }),
  'a calm semaphore of 3': scenario({ tries: 0.1 }, { kind: semaphoreOf(3) }, 30, 3.5),
  'readers and writers': scenario(someFaults, { kind: readWrite }),
  'calm readers and writers': scenario({ tries: 0.1 }, { kind: readWrite }, 30, 3.5),
  'readers and writers, a hot key': scenario(
    {},
    { kind: readWrite, clients: 100, arriveMs: 200, ...shortHolds },
    30,
    3,
  ),
}
