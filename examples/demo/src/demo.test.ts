import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startRedis } from '@leasehold/testkit/redis'
import { describe, expect, test } from 'vitest'

const main = fileURLToPath(new URL('main.ts', import.meta.url))
/** The demo promises to end within a minute, on a machine that is not busy. */
const deadlineMs = 120_000

interface Run {
  readonly child: ChildProcess
  /** Resolves when the output matches; rejects if the demo ends before that. */
  printed(pattern: RegExp): Promise<void>
  /** What has been printed so far. */
  output(): string
  /** Resolves at the end. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>
}

function demo(args: readonly string[], redisUrl = '', more: NodeJS.ProcessEnv = {}): Run {
  const { FORCE_COLOR: _, ...env } = process.env
  const child = spawn(process.execPath, [main, '--speed', '3', ...args], {
    env: { ...env, NO_COLOR: '1', REDIS_URL: redisUrl, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      child.emit('printed')
    })
  }
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }))
  return {
    child,
    ended,
    output: () => output,
    async printed(pattern) {
      const neverPrinted = ended.then(() => Promise.reject(new Error(`${pattern} was never printed:\n${output}`)))
      while (!pattern.test(output)) await Promise.race([once(child, 'printed'), neverPrinted])
      neverPrinted.catch(() => undefined)
    },
  }
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    // No such process.
    return false
  }
}

const serversIn = (output: string): number[] =>
  Array.from(output.matchAll(/^Server \w is process (\d+)/gm), ([, pid]) => Number(pid))

/** Three servers, and what the third one started: the gateway, the bridge and workerd. */
function withChildren(output: string): readonly number[] {
  const servers = serversIn(output)
  const children = servers.flatMap((pid) =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  expect([servers.length, children.length], output).toEqual([3, 3])
  return [...servers, ...children]
}

describe('the demo', { timeout: deadlineMs }, () => {
  test('proves its claims with servers over TCP and over HTTP on a Redis of its own, and ends with 0', async () => {
    const { code, output } = await demo([]).ended
    expect(output).toContain('All 8 claims hold')
    expect(output).toMatch(
      /^\d+ requests over HTTP waited .* commands for each lock; \d+ wake-ups through the bridge$/m,
    )
    for (const who of ['A TCP ', 'B TCP ', 'C HTTP']) {
      const times = ` +\\d+\\.\\d{3} s  ${who}  order:o-\\d+ +░*█+ +waited +\\d+ ms  held +\\d+ ms  fence …\\d+`
      expect(output).toMatch(new RegExp(`^${times}$`, 'm'))
    }
    expect(output).toMatch(/ holds: A \d+, B \d+, C \d+$/m)
    expect(code).toBe(0)
    expect(serversIn(output).filter(isRunning)).toEqual([])
  })

  test('finds what happens without locks, and ends with 1', async () => {
    await using redis = await startRedis()
    const { code, output } = await demo(['--without-locks'], redis.url).ended
    for (const claim of ['every effect happened exactly once', 'fences rose', 'holds of one key never overlapped']) {
      expect(output).toMatch(new RegExp(`FAIL  ${claim}`))
    }
    expect(code).toBe(1)
    expect(await redis.command('DBSIZE')).toBe(0)
  })

  test('goes on without the Worker where workerd cannot run, and says why', async () => {
    // This variable tells Miniflare where workerd is: here, a program that ends at once.
    const { code, output } = await demo(['--speed', '9'], '', { MINIFLARE_WORKERD_PATH: '/bin/false' }).ended
    expect(output).toContain('The Worker cannot run here, so there are only two servers')
    expect(output).toMatch(/All 7 claims hold/)
    expect(code).toBe(0)
  })

  test('uses the embedded store with one server, and says why', async () => {
    const { code, output } = await demo(['--embedded']).ended
    expect(output).toContain('the memory of one process, so one server only, no gateway, no bridge and no Worker')
    expect(output).toContain('All 6 claims hold')
    expect(code).toBe(0)
  })

  test('says so when the Redis that was named does not answer, and ends with 1', async () => {
    const { code, output } = await demo([], 'redis://127.0.0.1:1').ended
    expect(output).toContain('does not answer')
    expect(code).toBe(1)
  })

  test('leaves alone what a Redis already has, and leaves nothing there when it is interrupted', async () => {
    await using redis = await startRedis()
    await redis.command('SET', 'lock:order:o-001', 'of somebody else')
    const run = demo([], redis.url)
    await run.printed(/fence …/)
    expect(await redis.command('DBSIZE')).toBeGreaterThan(1)
    const servers = withChildren(run.output())
    run.child.kill('SIGINT')
    const { code } = await run.ended
    expect(code).toBe(130)
    expect(servers.filter(isRunning)).toEqual([])
    expect(await redis.command('KEYS', '*')).toEqual(['lock:order:o-001'])
  })

  test('leaves no server running when it is killed', async () => {
    const run = demo([])
    await run.printed(/fence …/)
    const servers = withChildren(run.output())
    run.child.kill('SIGKILL')
    await expect.poll(() => servers.filter(isRunning)).toEqual([])
  })
})
