import { type ChildProcess, fork } from 'node:child_process'
import { once as event } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'
import type { OnceAnswers, OnceOrder } from '../support/once-worker.ts'
import { ms } from '../support/scale.ts'

/*
 * Many callers in several processes ask for one result. One run serves them all, and any process may be killed or
 * frozen at any moment.
 */

const program = new URL('../support/once-worker.ts', import.meta.url)

class Worker {
  readonly name: string
  readonly #child: ChildProcess

  constructor(name: string, child: ChildProcess) {
    this.name = name
    this.#child = child
  }

  /** Has the process ask. `running` resolves when the process's own work begins. */
  ask(order: Partial<OnceOrder> & Pick<OnceOrder, 'key'>): { answers: Promise<OnceAnswers>; running: Promise<void> } {
    const answers = Promise.withResolvers<OnceAnswers>()
    const running = Promise.withResolvers<void>()
    this.#child.on('message', function told(this: ChildProcess, message: 'running' | OnceAnswers) {
      if (message === 'running') return running.resolve()
      this.off('message', told)
      answers.resolve(message)
    })
    this.#child.send({ callers: 1, tookMs: ms(1_000), end: 'return', options: {}, ...order })
    return { answers: answers.promise, running: running.promise }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (signal !== 'SIGKILL') return void this.#child.kill(signal)
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = event(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
}

let arena: RedisArena
let workers: Worker[]
beforeAll(async () => {
  arena = await redisArena()
  workers = await Promise.all(['a', 'b', 'c', 'd'].map(started))
})
afterAll(async () => {
  await Promise.all(workers.map((each) => each.kill()))
  await arena[Symbol.asyncDispose]()
})

async function started(name: string): Promise<Worker> {
  const args = [arena.server.url, arena.prefix, name]
  const child = fork(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await event(child, 'message')
  return new Worker(name, child)
}

const [a, b] = [0, 1].map((at) => () => workers[at] as Worker) as [() => Worker, () => Worker]
const runsOf = (key: string): Promise<string[]> =>
  arena.command('LRANGE', `${arena.prefix}runs:${key}`, 0, -1) as Promise<string[]>

async function scriptCalls(): Promise<number> {
  const stats = String(await arena.command('INFO', 'commandstats'))
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

it('a hundred callers in four processes get the result of one run, with few commands', async () => {
  const before = await scriptCalls()
  const all = await Promise.all(workers.map((each) => each.ask({ key: 'burst', callers: 25 }).answers))
  expect(await runsOf('burst')).toHaveLength(1)
  const results = all.flatMap(({ results }) => results)
  expect(results).toEqual(Array(100).fill(results[0]))
  // A claim for each process; for each that waited, one more and one after it had subscribed; and a completion.
  expect((await scriptCalls()) - before).toBeLessThanOrEqual(11)
})

it('an error is that of one process, and elsewhere the next waiter runs', async () => {
  const failing = a().ask({ key: 'failing', callers: 5, end: 'throw' })
  await failing.running
  const next = b().ask({ key: 'failing', callers: 5 })
  const { errors } = await failing.answers
  expect(errors.map(({ message }) => message)).toEqual(Array(5).fill('a failed'))
  expect((await next.answers).results).toEqual(Array(5).fill(expect.objectContaining({ by: 'b' })))
  expect(await runsOf('failing')).toEqual(['a', 'b'])
})

it('a result that is too large is an error, and nobody gets it', async () => {
  const { results, errors } = await a().ask({ key: 'large', callers: 3, end: 'too much' }).answers
  expect(results).toEqual([])
  expect(errors.map(({ code }) => code)).toEqual(Array(3).fill('INVALID_OPTION'))
  expect((await b().ask({ key: 'large' }).answers).results).toMatchObject([{ by: 'b' }])
})

describe('a runner', () => {
  const ttl = ms(5_000, 1_500)

  it('that is killed is replaced when its lease is over', async () => {
    const doomed = await started('doomed')
    await doomed.ask({ key: 'killed', tookMs: 60_000, options: { ttl } }).running
    const since = performance.now()
    const waiting = b().ask({ key: 'killed', callers: 10, tookMs: 10, options: { ttl, wait: '30s' } })
    await doomed.kill()
    expect((await waiting.answers).results).toEqual(Array(10).fill(expect.objectContaining({ by: 'b' })))
    expect(performance.now() - since).toBeLessThan(ttl + 2_000)
    expect(await runsOf('killed')).toEqual(['doomed', 'b'])
  })

  it('that was frozen is told to stop, is refused, and its callers get the winner’s result', async () => {
    const frozen = await started('frozen')
    const late = frozen.ask({ key: 'frozen', callers: 3, tookMs: ms(10_000), options: { ttl, wait: '30s' } })
    await late.running
    await frozen.kill('SIGSTOP')
    const [winner] = (await b().ask({ key: 'frozen', tookMs: 10, options: { ttl, wait: '30s' } }).answers).results
    expect(winner).toMatchObject({ by: 'b' })
    await frozen.kill('SIGCONT')
    const { results, stopped } = await late.answers
    expect([results, stopped]).toEqual([[winner, winner, winner], 1])
    expect(await runsOf('frozen')).toEqual(['frozen', 'b'])
    await frozen.kill()
  })
})
