import { startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { type Installation, installPackages } from './installed-packages.ts'
import { type RunningProgram, runProgram } from './running-program.ts'
import { node24, oldestNode, type Runtime, runtimes } from './runtimes.ts'

const token = 'test-token-71ac-0123456789abcdef0123'
/** In milliseconds. Shorter than any of our timers that would make it happen eventually. */
const soon = expect.toSatisfy((ms: number) => ms < 3_000)
/** In milliseconds, for a machine that is busy with other tests. */
const timeoutMs = 120_000

let packages: Installation
let httpStory: string
let serverStory: string
beforeAll(async () => {
  packages = await installPackages('bridge', 'bridge-client', 'core', 'ioredis', 'upstash')
  httpStory = await packages.program('http-story')
  serverStory = await packages.program('server-story')
})
afterAll(() => packages?.[Symbol.asyncDispose]())

/** Runs a program until the test is over; skips the test where there is no such runtime. */
function run(context: TestContext, { name, binary, flags }: Runtime, ...args: readonly string[]): RunningProgram {
  if (!binary) return context.skip(`There is no ${name} for ${process.platform} on ${process.arch}`)
  const program = runProgram([binary, ...flags, ...args], packages.folder)
  context.onTestFinished(program.kill)
  return program
}

/** The times in a program's output, for humans. */
const figures = (line: string): string =>
  Array.from(line.matchAll(/"(\w+)Ms":(\d+)/g), ([, what, ms]) => `${what} in ${ms} ms`).join(', ')

describe.concurrent.each(runtimes)('the published packages, on $name,', (runtime) => {
  test(
    'hold, renew, hand on and lose locks over TCP, wake waiters, and let the process end',
    async (context) => {
      await using redis = await startRedis()
      const program = run(context, runtime, ...runtime.flagsForTcp, serverStory, redis.url)
      const { code, lines, err, lingeredMs } = await program.ended
      expect([code, err]).toEqual([0, ''])
      const line = lines.join()
      console.log(`${runtime.name} over TCP: ${figures(line)}, ended in ${Math.round(lingeredMs)} ms`)
      expect(JSON.parse(line)).toEqual({
        runtime: runtime.name,
        refused: null,
        released: ['released', 'released'],
        risen: true,
        holder: 'server',
        wokenMs: soon,
        lost: 'gone',
        lossesIn: [null, null, null],
        disposable: true,
        embedded: true,
      })
      expect(lingeredMs).toEqual(soon)
    },
    timeoutMs,
  )

  test(
    'do the same with fetch alone, woken by a bridge until it dies, and let the process end',
    async (context) => {
      await using redis = await startRedis()
      /** Starts a program of the bridge, on this runtime if the program is published for it. */
      async function serve(program: 'bridge' | 'gateway'): Promise<RunningProgram & { readonly url: string }> {
        const main = packages.file('@leasehold/bridge', `dist/bin/${program}.js`)
        const metrics = program === 'bridge' ? ['--metrics-token', `metrics-${token}`] : []
        const args = [main, '--redis', redis.url, '--port', '0', '--token', token, ...metrics]
        const server = run(context, runtime.serves ? runtime : node24, ...args)
        const [url = ''] = /http:[\d./:]+/.exec(await server.line(/http:/)) ?? []
        return { ...server, url }
      }
      const gateway = await serve('gateway')
      const bridge = await serve('bridge')
      const program = run(context, runtime, httpStory, gateway.url, bridge.url, token)
      await program.line(/may die/)
      await bridge.kill()
      const { code, lines, err, lingeredMs } = await program.ended
      expect([code, err]).toEqual([0, ''])
      const line = lines.at(-1) ?? ''
      console.log(`${runtime.name} over HTTP: ${figures(line)}, ended in ${Math.round(lingeredMs)} ms`)
      const withTheBridge = {
        commands: 2,
        released: ['released', 'released'],
        excludes: true,
        freed: true,
        aborted: true,
        lost: 'gone',
        wokenMs: soon,
        closedMs: soon,
        toldMs: soon,
      }
      const often = expect.toSatisfy((checks: number) => checks > 2 && checks < 20)
      expect(JSON.parse(line)).toEqual({
        runtime: runtime.name,
        sse: withTheBridge,
        longPoll: withTheBridge,
        checks: [often, often],
        foundMs: soon,
        kept: 'released',
        ended: ['CLOSED', 'CLOSED'],
      })
      expect(lingeredMs).toEqual(soon)
    },
    timeoutMs,
  )
})

test('each of them is there, on Linux', (context) => {
  const has = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)
  if (!has) return context.skip('There are binaries of all for Linux on x64 and arm64 only')
  expect([...runtimes, oldestNode].filter(({ binary }) => !binary).map(({ name }) => name)).toEqual([])
})
