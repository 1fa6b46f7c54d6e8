import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { seededRandom } from '@leasehold/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { elapse, limit, ms } from '../support/scale.ts'

/** The faults in one lock's history: entries `<fence> <enter|leave> <process>` in the order of the resource. */
function faultsOf(ledger: readonly string[]): readonly string[] {
  const faults: string[] = []
  let lastFence = 0
  let lastEntered = 0
  for (const entry of ledger) {
    const [text = '', act] = entry.split(' ')
    const fence = Number(text)
    if (fence < lastFence) faults.push(`${entry} came after fence ${lastFence}`)
    if (act === 'enter' && fence <= lastEntered) faults.push(`${entry} entered although ${lastEntered} had`)
    if (act === 'enter') lastEntered = fence
    lastFence = fence
  }
  return faults
}

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

interface Figures {
  readonly holds: number
  readonly fencedOut: number
  readonly lost: number
  readonly unanswered: number
  readonly timeouts: number
  readonly longestWaitMs: number
}

describe('the history of fences', () => {
  it('shows no two holders at once, whatever happens to holders, waiters, messages and the server', async () => {
    await using arena = await redisArena()
    const { random } = seededRandom()
    const keys = 3
    const start = async (): Promise<ChildProcess> => {
      const args = [String(arena.server.port), arena.prefix, String(keys)]
      const child = fork(new URL('../support/contender-worker.ts', import.meta.url), args)
      children.push(child)
      await once(child, 'message')
      return child
    }
    const processes = await Promise.all([start(), start(), start()])
    const pick = (): number => Math.floor(random() * processes.length)

    const faults: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['subscribers killed', () => arena.command('CLIENT', 'KILL', 'TYPE', 'pubsub')],
      ['scripts flushed', () => arena.command('SCRIPT', 'FLUSH')],
      ['connections killed', () => arena.command('CLIENT', 'KILL', 'TYPE', 'normal')],
      [
        'server stopped for less than the ttl',
        () =>
          stopped(
            () => arena.server.pause(),
            () => arena.server.resume(),
            250,
          ),
      ],
      [
        'server stopped for longer than the ttl',
        () =>
          stopped(
            () => arena.server.pause(),
            () => arena.server.resume(),
            900,
          ),
      ],
      [
        'holder frozen for longer than its ttl',
        () => {
          const frozen = processes[pick()] as ChildProcess
          return stopped(
            () => frozen.kill('SIGSTOP'),
            () => frozen.kill('SIGCONT'),
            1_200,
          )
        },
      ],
      [
        'holder killed',
        async () => {
          const index = pick()
          processes[index]?.kill('SIGKILL')
          processes[index] = await start()
        },
      ],
    ]
    const until = performance.now() + ms(60_000)
    for (let turn = 0; performance.now() < until || turn < faults.length; turn++) {
      await elapse(random() * 300)
      await faults[turn % faults.length]?.[1]()
    }
    await elapse(1_000)

    const figures = await Promise.all(
      processes.map(async (child) => {
        const told = once(child, 'message')
        child.send('end')
        return ((await told) as [Figures])[0]
      }),
    )
    let holds = 0
    for (let key = 0; key < keys; key++) {
      const ledger = (await arena.command('LRANGE', `ledger:k${key}`, 0, -1)) as string[]
      holds += ledger.filter((entry) => entry.includes('enter')).length
      expect(faultsOf(ledger)).toEqual([])
    }
    const sum = (name: keyof Figures): number => figures.reduce((total, each) => total + each[name], 0)
    const longestWaitMs = Math.max(...figures.map((each) => each.longestWaitMs))
    console.log(
      `${holds} holds; ${sum('lost')} lost, ${sum('fencedOut')} late writes refused, ${sum('unanswered')} unanswered,` +
        ` longest wait ${Math.round(longestWaitMs)} ms`,
    )
    expect(holds).toBeGreaterThan(50)
    expect(sum('timeouts')).toBe(0)
    // Dead holders cost their ttl, a stopped server its time; nobody is forgotten.
    expect(longestWaitMs).toBeLessThan(limit(12_000))
  }, 180_000)

  it('would show a second holder, and a fence that goes back', () => {
    expect(faultsOf(['5 enter 1', '5 leave 1', '6 enter 2', '6 leave 2'])).toEqual([])
    expect(faultsOf(['5 enter 1', '6 enter 2', '5 leave 1'])).toHaveLength(1)
    expect(faultsOf(['5 enter 1', '5 enter 2'])).toHaveLength(1)
    expect(faultsOf(['6 enter 1', '5 enter 2'])).toHaveLength(2)
  })
})

async function stopped(stop: () => unknown, resume: () => unknown, forMs: number): Promise<void> {
  stop()
  await elapse(forMs)
  resume()
}
