import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { holdAtLeast } from '@leasehold/core/schedule'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Place, placesToWait } from '../support/groups-of-locks.ts'
import { eventually, limit, ms } from '../support/scale.ts'

const program = fileURLToPath(new URL('../support/job-worker.ts', import.meta.url))
const skewsMs = [0, 150, 400]
const atLeastMs = ms(2_000, 1_000)

describe('T-11 a very short job that three processes fire', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())
  beforeEach(() => server.command('FLUSHALL') as Promise<never>)

  /** Fires the job in all of them, and returns what each prints when it exits. */
  async function fired(heldAtLeastMs: number): Promise<string[]> {
    const children: ChildProcess[] = []
    try {
      const jobs = skewsMs.map(async (lateMs) => {
        const child = spawn(process.execPath, [program, `${server.port}`, `${lateMs}`, `${heldAtLeastMs}`], {
          stdio: ['pipe', 'pipe', 'inherit'],
        })
        children.push(child)
        const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> })
        const said = lines[Symbol.asyncIterator]()
        expect((await said.next()).value).toBe('ready')
        return async (): Promise<string> => {
          child.stdin?.write('go\n')
          const { value } = await said.next()
          if (child.exitCode === null) await once(child, 'exit')
          return value as string
        }
      })
      const go = await Promise.all(jobs)
      return await Promise.all(go.map((start) => start()))
    } finally {
      for (const child of children) child.kill('SIGKILL')
    }
  }

  it('runs once where the lock is held for a time at least, though the process that ran it has exited', async () => {
    const answers = await fired(atLeastMs)
    expect(answers.toSorted()).toEqual(['did not run', 'did not run', 'ran'])
    expect(await server.command('LLEN', 'runs')).toBe(2)
    // It was acquired at 0 ms and released at 5 ms, and the last process came at 400 ms.
    const leftMs = Number(await server.command('PTTL', 'lock:nightly'))
    expect(leftMs).toBeGreaterThan(0)
    expect(leftMs).toBeLessThanOrEqual(atLeastMs - 400)
    await eventually(async () => (await server.command('EXISTS', 'lock:nightly')) === 0, limit(atLeastMs))
  })

  it('runs in each of them otherwise: only overlap is prevented', async () => {
    expect(await fired(0)).toEqual(['ran', 'ran', 'ran'])
    const runs = (await server.command('LRANGE', 'runs', '0', '-1')) as string[]
    expect(runs.map((run) => run.split(' ')[1])).toEqual(['begins', 'ends', 'begins', 'ends', 'begins', 'ends'])
    expect(await server.command('EXISTS', 'lock:nightly')).toBe(0)
  })
})

describe.each(placesToWait)('%s', (_, open) => {
  let place: Place
  beforeAll(async () => {
    place = await open()
  })
  afterAll(() => place[Symbol.asyncDispose]())

  it('who waits for a lock that is kept gets it when its time is over, and not when the former ttl is', async () => {
    const [a, b] = [place.client({ ttl: '1m' }), place.client({ ttl: '1m' })]
    const lease = await holdAtLeast(a, atLeastMs).acquire('k')
    const heldMs = performance.now()
    const waiting = b.acquire('k', { wait: '30s' })
    await eventually(() => performance.now() - heldMs > atLeastMs / 4)
    expect(await lease.release()).toBe('released')
    await using taken = await waiting
    const waitedMs = performance.now() - heldMs
    // Counted from the answer to the acquire, which this clock saw a little later.
    console.log(`granted ${Math.round(waitedMs - atLeastMs)} ms after the time of ${atLeastMs} ms was over`)
    expect(waitedMs).toBeGreaterThan(atLeastMs - 50)
    expect(waitedMs).toBeLessThan(limit(atLeastMs + 1_000))
    taken.assertValid()
  })
})
