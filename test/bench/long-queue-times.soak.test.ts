import type { QueueKind } from '@leasehold/core/queue'
import { ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LongQueue, type Member } from '../support/long-queue.ts'
import { median } from './measure/statistics.ts'

/*
 * How long the server takes for a script call while 10, 1,000 and 10,000 wait, by its own count. What the script does is
 * the same (`long-queues.test.ts`); what grows is how long the server takes to find a place in the queue.
 */

const lengths = [10, 1_000, 10_000] as const
const turns = 5
const calls = 500

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
  // Every script takes longer, and hardly any of the commands that it calls, whose entries would take time, too.
  await client.config('SET', 'slowlog-log-slower-than', '10')
  await client.config('SET', 'slowlog-max-len', '10000')
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const kind: QueueKind = { name: 'exclusive', capacity: 1 }
/** Ten waiters to a process. */
const member = (number: number): Member => ({ process: Math.floor(number / 10), number })

type Steps = Readonly<Record<string, () => Promise<unknown>>>
type Micros = Readonly<Record<string, number>>

/** A lock that somebody has, and its queue, which is as long after each round of steps as before. */
class Line {
  readonly #length: number
  readonly #queue: LongQueue
  #token = ''
  #first = 0

  constructor(length: number) {
    this.#length = length
    this.#queue = new LongQueue(ioredisStore(client), `long-${length}`, kind)
  }

  async form(): Promise<void> {
    this.#token = await this.#queue.take(0, 1)
    await this.#queue.enter(Array.from({ length: this.#length }, (_, number) => member(number)))
    // From here on the server has all scripts.
    for (const steps of this.steps) for (const step of Object.values(steps)) await step()
  }

  readonly steps: readonly Steps[] = [
    {
      'acquire, without waiting': () => this.#queue.try(1, 1),
      repeat: () => this.#queue.ask(member(this.#first + this.#length / 2)),
      look: () => this.#queue.look(member(this.#first), [this.#first]),
    },
    {
      release: () => this.#queue.release(this.#token),
      'acquire, with the turn': () => this.#take(),
      'acquire, at the end': () => this.#queue.ask(member(this.#first + this.#length - 1)),
    },
  ]

  async #take(): Promise<void> {
    const taken = await this.#queue.ask(member(this.#first++))
    if (taken.type !== 'granted') throw new Error(`The turn was answered: ${taken.type}`)
    this.#token = taken.token
  }
}

/**
 * How many microseconds each script takes the server with each line: the median, since anything may interrupt a call.
 * The lines take turns call by call, so that what the machine does meanwhile affects all alike.
 */
async function microsOf(lines: readonly Line[], part: number): Promise<readonly Micros[]> {
  const steps = lines.flatMap((line, at) =>
    Object.entries(line.steps[part] ?? {}).map(([name, step]) => ({ at, name, step })),
  )
  await client.slowlog('RESET')
  for (let each = 0; each < calls; each++) for (const { step } of steps) await step()
  const log = (await client.slowlog('GET', 10_000)) as [number, number, number, string[]][]
  // The latest comes first.
  const taken = log.filter(([, , , [name = '']]) => /^evalsha$/i.test(name)).map(([, , micros]) => micros)
  expect(taken).toHaveLength(calls * steps.length)
  taken.reverse()
  const of = (place: number): number => median(taken.filter((_, call) => call % steps.length === place))
  const named = steps.map(({ at, name }, place) => ({ at, name, micros: of(place) }))
  return lines.map((_, line) =>
    Object.fromEntries(named.filter(({ at }) => at === line).map(({ name, micros }) => [name, micros])),
  )
}

it('a script call takes the server about as long with 10,000 waiters as with 10', async () => {
  const lines = lengths.map((length) => new Line(length))
  for (const line of lines) await line.form()
  const rounds: (readonly Micros[])[] = []
  for (let turn = 0; turn < turns; turn++) {
    const [alone, handOff] = [await microsOf(lines, 0), await microsOf(lines, 1)]
    rounds.push(lines.map((_, at) => ({ ...alone[at], ...handOff[at] })))
  }
  for (const name of Object.keys(rounds[0]?.[0] ?? {})) {
    const columns = lengths.map((_, at) => rounds.map((round) => Number(round[at]?.[name])))
    const ratios = columns.map((column) => column.map((micros, turn) => micros / Number(columns[0]?.[turn])))
    const shown = lengths.map((length, at) => {
      const [micros, ratio] = [columns[at] ?? [], ratios[at] ?? []]
      return `${length}: ${span(micros, 0)} µs, ${span(ratio, 2)} times`
    })
    console.log(`${name}, ${shown.join('; ')}`)
    expect(median(ratios.at(-1) ?? [])).toBeLessThan(1.25)
  }
})

/** The median, and the least and the most. */
const span = (values: readonly number[], digits: number): string =>
  [median(values), Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits)).join(' ')
