import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BridgeContestant, bareBridge, bridgeProgram, bridgeSmallYoung } from '../contestants/bridges.ts'
import { rawIoredis } from '../contestants/raw-ioredis.ts'
import { type BridgeProcess, startBridgeProcess } from '../crew/bridge-process.ts'
import { type Crew, startCrew } from '../crew/crew.ts'
import type { Series } from '../crew/floor-jobs.ts'
import { median, percentile } from '../measure/statistics.ts'
import { chosen } from '../options.ts'
import {
  allWoken,
  type BridgePlan,
  delaysOf,
  holdKeys,
  keysOf,
  leaveAll,
  openWaiters,
  type Places,
} from './bridge-run.ts'
import type { Figures, Sample, Scenario, Turn } from './scenario.ts'

const contestants: readonly BridgeContestant[] = [bareBridge, bridgeProgram, bridgeSmallYoung]

/**
 * Memory is what the process keeps when V8 has given back all it can; `MB in all` is what an operator sees, including
 * the garbage of so many starting at once.
 */
export const bridge: Scenario = {
  name: 'bridge',
  about: 'many waiters over HTTP at one bridge process: what each costs, and the time from a PUBLISH to the wake-up',
  contestants,
  columns: [
    { name: 'rss', title: 'kB each', digits: 1, better: 'less', eachFloor: true },
    { name: 'heap', title: 'heap kB', digits: 1, better: 'less', eachFloor: true },
    { name: 'all', title: 'MB in all', digits: 0 },
    { name: 'p50', title: 'wake-up p50 ms', digits: 2, better: 'less', eachFloor: true },
    { name: 'p99', title: 'p99 ms', digits: 1, better: 'less', eachFloor: true },
    { name: 'last50', title: 'last p50 ms', digits: 2, better: 'less', eachFloor: true },
    { name: 'last99', title: 'last p99 ms', digits: 1, better: 'less', eachFloor: true },
    { name: 'cpu', title: 'µs CPU / wake-up', digits: 0, better: 'less', eachFloor: true },
    { name: 'opening', title: 'ms CPU to open', digits: 2, better: 'less', eachFloor: true },
    { name: 'rest', title: '% CPU at rest', digits: 1 },
  ],
  settings: (options) =>
    options.connections.map((waiters) => [
      floor(waiters),
      ...plansFor(waiters).flatMap((plan) => chosen(contestants, options).map((contestant) => turn(contestant, plan))),
    ]),
}

/** How many wait for the same key, where waiters do not each have their own. */
const crowd = 100

const plansFor = (waiters: number): readonly BridgePlan[] => [
  { kind: 'poll', waiters, keys: waiters },
  { kind: 'stream', waiters, keys: waiters },
  { kind: 'stream', waiters, keys: Math.ceil(waiters / crowd) },
]

const tableOf = ({ kind, waiters, keys }: BridgePlan): string =>
  `${waiters} ${kind === 'poll' ? 'long polls' : 'event streams'}, ${
    keys === waiters ? 'a key each' : `${waiters / keys} to a key`
  }`

/** Within this time each stream has one heartbeat, and two in five polls ask again. */
const cycleMs = 10_000
const single = { count: 500, everyMs: cycleMs / 500 }
/** Releases that wake a crowd. */
const crowded = { count: 50, everyMs: cycleMs / 50 }
const short = { count: 100, everyMs: 5 }
/** At most a quarter of the polls are woken, so that what the others use can still be measured. */
function seriesFor({ kind, waiters, keys }: BridgePlan): Series {
  if (kind === 'poll' && waiters < 4 * single.count) return { count: waiters / 4, everyMs: (4 * cycleMs) / waiters }
  return keys === waiters ? single : crowded
}

/** Compiles what is about to be measured. */
const warmUpWaiters = 400

/** The processes that wait; one more releases. */
const waitingProcesses = 2

const turn = (contestant: BridgeContestant, plan: BridgePlan): Turn => ({
  name: `${contestant.name}, ${tableOf(plan)}`,
  async play({ server, admin }) {
    await using holder = await startCrew(1, rawIoredis, server.port)
    await using crew = await startCrew(waitingProcesses, rawIoredis, server.port)
    await using process = await startBridgeProcess(contestant, server.port)
    const warmUp = { ...plan, waiters: warmUpWaiters, keys: Math.min(plan.keys, warmUpWaiters) }
    await holdKeys(admin, warmUp)
    const first = await openWaiters(process, crew, warmUp)
    await wakeUps({ holder, crew, process, places: first }, warmUp, short)
    await leaveAll(process, crew, plan.kind)

    await holdKeys(admin, plan)
    const before = await process.use({ collect: 'last-resort' })
    const places = await openWaiters(process, crew, plan)
    const open = await process.use()
    const atRest = await shareAtRest(process)
    const { woken, ...wakeUpFigures } = await wakeUps({ holder, crew, process, places, atRest }, plan)
    const waiting = await process.use({ collect: 'last-resort' })
    const still = plan.kind === 'stream' ? plan.waiters : plan.waiters - woken
    const figures = {
      ...wakeUpFigures,
      rss: (waiting.rss - before.rss) / still / 1_000,
      heap: (waiting.heap - before.heap) / still / 1_000,
      all: open.rss / 1e6,
      rest: atRest * 100,
      opening: (open.cpuMs - before.cpuMs) / plan.waiters,
    }
    return [{ table: tableOf(plan), row: contestant.name, role: contestant.role, figures } satisfies Sample]
  },
})

/** The share of a processor used while nothing happens but heartbeats and repeated polls. */
async function shareAtRest(process: BridgeProcess): Promise<number> {
  // The garbage of so many starting at once counts as theirs.
  const before = await process.use({ collect: 'regular' })
  const startedAt = performance.now()
  await sleep(cycleMs)
  return ((await process.use()).cpuMs - before.cpuMs) / (performance.now() - startedAt)
}

const floorCount = 100

/**
 * The lower bound for any bridge: the time from a PUBLISH until a TCP subscriber hears it. And what ours may take:
 * three times that, plus an HTTP round trip.
 */
const floor = (waiters: number): Turn => ({
  name: `floor, ${waiters}`,
  async play({ server }) {
    await using crew = await startCrew(2, rawIoredis, server.port)
    await using bare = await startBridgeProcess(bareBridge, server.port)
    const [publisher, subscriber] = crew.members
    if (!publisher || !subscriber) throw new Error('There is nobody to measure with')
    const samples: Sample[] = []
    for (const plan of plansFor(waiters)) {
      const series = { ...seriesFor(plan), count: floorCount }
      const channel = `floor-${randomUUID()}`
      await subscriber.listen({ channel, count: series.count })
      const sent = await publisher.announce({ channel, ...series })
      const heard = await subscriber.listen({ channel, count: series.count })
      const published = sent.map((sentAt, message) => (heard[message] ?? Number.NaN) - sentAt)
      const trips = await subscriber.httpRoundTrips({ url: bare.url, ...series })
      const row = (name: string, figures: Figures): Sample => ({
        table: tableOf(plan),
        row: name,
        role: 'floor',
        figures,
      })
      samples.push(
        row('PUBLISH over TCP', { p50: median(published), p99: percentile(published, 0.99) }),
        row('3 PUBLISH + HTTP trip', { p50: 3 * median(published) + median(trips) }),
      )
    }
    return samples
  },
})

interface Players {
  readonly holder: Crew
  readonly crew: Crew
  readonly process: BridgeProcess
  readonly places: Places
  /** The share of a processor that the process uses anyway. */
  readonly atRest?: number
}

/** A series of releases, and when the waiters were woken. */
async function wakeUps(players: Players, plan: BridgePlan, series = seriesFor(plan)) {
  const { holder, crew, process, places, atRest = 0 } = players
  const known = keysOf(plan)
  const keys = Array.from({ length: series.count }, (_, release) => known[release % known.length] as string)
  const before = await process.use()
  const startedAt = performance.now()
  const released = (await holder.members[0]?.releaseEach({ keys, everyMs: series.everyMs })) ?? []
  const heard = await allWoken(crew, places, keys)
  const cpuMs = (await process.use()).cpuMs - before.cpuMs - atRest * (performance.now() - startedAt)

  const delays = delaysOf(released, heard)
  const all = delays.flat()
  const last = delays.map((of) => of.at(-1) ?? Number.NaN)
  return {
    woken: heard.length,
    p50: median(all),
    p99: percentile(all, 0.99),
    ...(plan.keys < plan.waiters && { last50: median(last), last99: percentile(last, 0.99) }),
    cpu: (cpuMs / heard.length) * 1_000,
  }
}
