import {
  checkAnswers,
  checkEffects,
  checkExits,
  checkFences,
  checkHolds,
  checkLeftovers,
  checkLimits,
  checkWakeUps,
  type Finding,
} from './checks.ts'
import { type DemoServer, dataPrefix, expiryDeadlineMs, startServers, type Way } from './demo-servers.ts'
import { type LedgerEntry, ledgerEntry } from './ledger.ts'
import { paint } from './paint.ts'
import { chooseRedis, type DemoRedis, type Embedded } from './redis-choice.ts'
import { expectedFrom, readRequests } from './requests.ts'
import { holdLine, Timeline, waitsLine } from './timeline.ts'
import { deleteKeys, keysUnder, untilGone } from './traces.ts'
import { newTally, rush, sendAll, type Tally } from './traffic.ts'

export interface DemoOptions {
  readonly redisUrl: string | undefined
  /** Lets everybody in at once, to show that the checks would find it. */
  readonly withoutLocks: boolean
  /** Uses the embedded store even if there is a Redis. */
  readonly embedded: boolean
  /** How much faster the requests come. */
  readonly speed: number
  readonly say: (text: string) => void
}

/** The number of each coupon, and the number of requests for one order that each server gets at the end. */
const limits = { spring: 25, launch: 5 }
const rushOrder = 'o-rush'
const rushRequests = 25

const progressEveryMs = 2_000
/** The time limit once there is a Redis: if anything hangs, the demo still ends. */
const deadlineMs = 50_000

/**
 * Runs the whole demo, and resolves with its findings.
 *
 * @throws Error if it could not be run · the signal's own reason when it is aborted. Either way nothing is left running.
 */
export async function runDemo(options: DemoOptions, interrupt: AbortSignal): Promise<readonly Finding[]> {
  const { say, speed } = options
  await using cleanup = new AsyncDisposableStack()
  const redis: DemoRedis | Embedded = options.embedded
    ? { embedded: true, reason: 'asked for' }
    : await chooseRedis(options.redisUrl, say)
  const embedded = 'embedded' in redis
  if (!embedded) {
    cleanup.defer(() => redis.close())
    // A Redis that the demo started is stopped, with everything in it.
    if (!redis.own) cleanup.defer(async () => deleteKeys(redis.client, await keysUnder(redis.client, redis.prefix)))
  }
  const signal = AbortSignal.any([interrupt, AbortSignal.timeout(deadlineMs)])
  signal.throwIfAborted()

  say(
    embedded
      ? `The embedded store (${redis.reason}): the memory of one process, so one server only, no gateway, no bridge and no Worker`
      : `Two servers over TCP and a Worker over HTTP, on ${redis.description}, under the prefix ${redis.prefix}`,
  )
  let startedAt = Date.now()
  let shown = true
  const timeline = new Timeline((hold) => shown && say(holdLine(hold, startedAt)))
  const { withoutLocks } = options
  const servers = await startServers(redis, timeline, { limits, withoutLocks }, (reason) =>
    say(paint('yellow', `The Worker cannot run here, so there are only two servers: ${reason}`)),
  )
  // All at once: each lets its work end first.
  cleanup.defer(async () => void (await Promise.all(servers.map((server) => server.stop()))))
  for (const { name, way, pid, url } of servers) say(`Server ${name} is process ${pid} at ${url}${waysOf(way)}`)

  const requests = readRequests()
  const urls = servers.map(({ url }) => url)
  const tally = newTally()
  say(`${requests.length} requests, each sent to ${embedded ? 'it' : 'all of them at the same time'}; ░ waited, █ held`)
  if (withoutLocks) say(paint('yellow', 'Without locks: nobody waits, and nobody holds anything'))
  say('')
  startedAt = Date.now()
  const progress = setInterval(() => say(progressLine(tally, startedAt)), progressEveryMs)
  try {
    await sendAll(requests, urls, tally, speed, signal)
    say(progressLine(tally, startedAt))
    // Fifty similar lines would push the rest out of sight.
    shown = false
    const worked = await rush(urls, rushOrder, rushRequests, signal)
    const shares = servers.map(({ name }, index) => `${name} did the work ${worked[index]} times`)
    say(paint('bold', `-- ${rushRequests} more for the one order ${rushOrder}, at once, to each: ${shares.join(', ')}`))
  } finally {
    clearInterval(progress)
  }

  const rushed = { at: 0, path: '/api/orders/process', body: { orderId: rushOrder, userId: 'tester' } }
  const expected = expectedFrom([...requests, rushed], limits)
  const ledger = await readLedger(redis, servers, signal)
  const exits = await Promise.all(servers.map(async (server) => ({ name: server.name, code: await server.stop() })))
  say('')
  for (const [way, waits] of timeline.waits) say(waitsLine(way, waits))
  const waitsOverHttp = timeline.waits.get('HTTP')
  const findings = [
    checkAnswers(tally.sent, tally.unanswered),
    checkEffects(ledger, expected),
    checkLimits(ledger, expected),
    checkFences(ledger),
    checkHolds(ledger),
    ...(waitsOverHttp && !withoutLocks ? [checkWakeUps(waitsOverHttp)] : []),
    checkExits(exits),
  ]
  if (embedded) {
    say("What the server's ledger says, compared with the file of requests; the store ended with the server:")
    return findings
  }
  const leftovers = await lookForLeftovers(redis, say, signal)
  say('What the ledger in Redis says, compared with the file of requests and not with the answers of the servers:')
  return [...findings, leftovers]
}

function waysOf(way: Way): string {
  if (way === 'HTTP')
    return ': the Hono Worker in workerd, over HTTP: leasehold-gateway for commands, leasehold-bridge for wake-ups'
  return way === 'TCP' ? ': Node, over TCP' : ''
}

/** Reads the ledger from Redis, bypassing the servers. With the embedded store, only the server itself can be asked. */
async function readLedger(
  redis: DemoRedis | Embedded,
  servers: readonly DemoServer[],
  signal: AbortSignal,
): Promise<readonly LedgerEntry[]> {
  if (!('embedded' in redis)) {
    const lines = await redis.client.lrange(`${dataPrefix(redis)}ledger`, 0, -1)
    return lines.map((line) => ledgerEntry(JSON.parse(line)))
  }
  const response = await fetch(`${servers[0]?.url}/api/ledger`, { signal })
  return ((await response.json()) as unknown[]).map(ledgerEntry)
}

/** The demo deletes the servers' data, which has no expiry. Locks and their fence records must expire by themselves. */
async function lookForLeftovers(redis: DemoRedis, say: (text: string) => void, signal: AbortSignal): Promise<Finding> {
  const data = await keysUnder(redis.client, dataPrefix(redis))
  await deleteKeys(redis.client, data)
  say(`Deleted the servers' data (${data.length} keys); locks and fence records must expire by themselves …`)
  const { left, waitedMs } = await untilGone(redis.client, redis.prefix, expiryDeadlineMs, signal)
  return checkLeftovers(left, waitedMs)
}

function progressLine({ sent, first, repeats, soldOut }: Tally, startedAt: number): string {
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1)
  const open = sent - first - repeats - soldOut
  return paint(
    'bold',
    `-- ${seconds} s: ${sent} sent, ${first} done first, ${repeats} repeats, ${soldOut} sold out, ${open} open`,
  )
}
