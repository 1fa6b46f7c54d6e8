import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, type RunningProgram, runProgram } from '../runtimes/running-program.ts'
import { node24, oldestNode, runtimes } from '../runtimes/runtimes.ts'
import { soak } from '../support/scale.ts'
import { inWorkerd } from './in-workerd.ts'
import { type Installation, installAll, testFolder } from './installation.ts'
import { cellName, compile, compiled, programs, type TypeCell, typeCells, type Verdict } from './type-cells.ts'

type Format = TypeCell['format']

/** In milliseconds, enough for all ways to compile on a machine that is busy with other tests. */
const timeoutMs = 900_000

/** The ways to compile whose JavaScript is run: by the newest compiler, and by the last one written in JavaScript. */
const emitting = (format: Format): TypeCell => ({
  typescript: format === 'esm' ? '7' : '5.9',
  resolution: 'nodenext',
  format,
})

/** The expected verdict of a compiler: `fine`, except where that is impossible, with the reason it gives. */
function expectedVerdict({ typescript, resolution, format }: TypeCell, program: string): string | undefined {
  const seven = typescript === '7'
  if (program === 'block' && typescript === '5.0') return undefined
  if (seven && resolution === 'node10') return 'TS5108'
  if (!seven && resolution === 'bundler' && format === 'cjs') return 'TS5095'
  // CommonJS may require ESM from TypeScript 5.8 on, where the newest Node is assumed.
  const strict = resolution === 'node16' || (resolution === 'nodenext' && !seven && typescript !== '5.9')
  if (format === 'cjs' && strict && ['durable-object', 'cloudflare', 'conformance'].includes(program)) return 'TS1479'
  // An old TypeScript cannot read third-party declarations without `skipLibCheck`.
  const old = typescript === '5.0' || typescript === '5.4'
  if (['bridge', 'hono'].includes(program) && old) return 'TS2315 in hono'
  if (program === 'upstash-client' && typescript === '5.0') return 'TS5084 in @upstash/redis'
  // Nor without `esModuleInterop`, which the newer module resolutions imply.
  if (program === 'node-redis' && resolution === 'node10') return 'TS1192 in @redis/client'
  if (program === 'node-redis' && typescript === '5.0') return 'TS2694 in @redis/client'
  if (program === 'conformance' && resolution === 'node10') return 'TS2307 in vitest'
  if (program === 'conformance' && typescript === '5.0') return 'TS2380 in vitest'
  return 'fine'
}

/** The output of each program, whatever its format and the Node that runs it. */
const answers: Readonly<Record<string, string>> = {
  core: 'true true STORE_UNAVAILABLE true',
  block: 'false',
  locked: 'a 2 true 8 process 2 a is busy',
  upstash: 'upstash true',
  'bridge-client': 'true url',
  idempotency: '1 aa 201 scope',
  hono: 'k 1 true wait',
  sessions: 'ada entered left ttl',
  ioredis: 'gone no',
  'node-redis': 'gone no',
  'upstash-client': 'true null',
  bridge: '200 401 503 true',
  'durable-object': 'function function function',
  testkit: 'fulfilled PONG',
}

/** `process.features.require_module` exists from 20.19 and 22.12 on. */
const cannotRequireEsm: readonly string[] = ['Node 20.9']

/**
 * Checks how our packages fare in each set-up, and prints that as a table.
 *
 * @param chosen selects the ways to compile; those whose JavaScript is run are always included
 */
export function setUps(chosen: (cell: TypeCell) => boolean): void {
  const emitted = new Set([cellName(emitting('cjs')), cellName(emitting('esm'))])
  const cells = typeCells.filter((cell) => chosen(cell) || emitted.has(cellName(cell)))
  let installation: Installation
  beforeAll(async () => {
    installation = await installAll()
    for (const name of ['run-programs.cjs', 'two-builds.mjs', 'locks.test.cjs', 'locks.test.mjs']) {
      const source = fileURLToPath(new URL(`runners/${name}`, import.meta.url))
      copyFileSync(source, join(installation.folder, name))
    }
  }, timeoutMs)
  afterAll(() => installation?.[Symbol.asyncDispose]())

  const run = (binary: string | undefined, ...args: readonly string[]): RunningProgram =>
    // The testkit looks for a Redis server in `PATH`.
    runProgram([binary ?? process.execPath, ...args], installation.folder, { PATH: process.env['PATH'] })

  describe('packages installed from their tarballs', () => {
    test(
      'compile with each TypeScript, by each way it finds modules, as CommonJS and as ESM',
      async () => {
        const verdicts = new Map<string, ReadonlyMap<string, Verdict>>()
        await twoAtATime(cells, async (cell) => {
          const name = cellName(cell)
          verdicts.set(name, await compile(installation, cell, emitted.has(name)))
        })
        const rowOf = (cell: TypeCell): (string | undefined)[] =>
          programs.map((program) => verdicts.get(cellName(cell))?.get(program)?.verdict)
        print(
          ['TypeScript', ...programs],
          cells.map((cell) => [cellName(cell), ...rowOf(cell).map((each) => each ?? '')]),
        )
        const reasons = [...verdicts.values()].flatMap((row) => [...row.values()])
        for (const [verdict, message] of new Map(reasons.map((each) => [each.verdict, each.message]))) {
          if (verdict !== 'fine') console.log(`${verdict}: ${message}`)
        }
        expect(cells.map((cell) => [cellName(cell), ...rowOf(cell)])).toEqual(
          cells.map((cell) => [cellName(cell), ...programs.map((program) => expectedVerdict(cell, program))]),
        )
      },
      timeoutMs,
    )

    test(
      'run on Node, imported and required',
      async ({ onTestFinished }) => {
        const token = 'test-token-71ac-0123456789abcdef0123'
        // Two programs run at a time, each with its own servers, because all use the same keys.
        async function serve(): Promise<Readonly<Record<string, string>>> {
          const redis = await startRedis()
          onTestFinished(() => redis.stop())
          async function start(name: string): Promise<string> {
            const main = `node_modules/@leasehold/bridge/dist/bin/${name}.js`
            const server = run(oldestNode.binary, main, '--redis', redis.url, '--port', '0', '--token', token)
            onTestFinished(server.kill)
            return /http:[\d./:]+/.exec(await server.line(/http:/))?.[0] ?? ''
          }
          return { redis: redis.url, gateway: await start('gateway'), bridge: await start('bridge'), token }
        }
        const servers = await Promise.all([serve(), serve()])

        const names = Object.keys(answers)
        const rows = new Map<string, readonly string[]>()
        // A soak also runs those between the oldest and the newest.
        const between = soak ? runtimes.filter(({ name }) => name.startsWith('Node') && name !== node24.name) : []
        const nodes = [oldestNode, ...between, node24]
        const ways = nodes.flatMap((node) => (['cjs', 'esm'] as const).map((format) => ({ ...node, format })))
        await twoAtATime(ways, async ({ name, binary, format }, lane) => {
          const title = `${name}, ${format}`
          if (!binary) {
            rows.set(title, [`there is none for ${process.platform} on ${process.arch}`])
            return
          }
          const files = names.map((program) => join(installation.folder, compiled(emitting(format), program)))
          const program = run(binary, 'run-programs.cjs', format, JSON.stringify(files), JSON.stringify(servers[lane]))
          const { lines, err } = await program.ended
          const said = JSON.parse(lines.at(-1) ?? '{}') as Record<string, string>
          const row = names.map((each) => (said[each] === answers[each] ? 'fine' : (said[each] ?? err)))
          rows.set(title, row)
          const esm = format === 'cjs' && cannotRequireEsm.includes(name) ? 'ERR_REQUIRE_ESM' : 'fine'
          expect([title, ...row]).toEqual([title, ...names.map((each) => (each === 'durable-object' ? esm : 'fine'))])
        })
        print(
          ['', ...names],
          ways.map(({ name, format }) => [`${name}, ${format}`, ...(rows.get(`${name}, ${format}`) ?? [])]),
        )
      },
      timeoutMs,
    )

    test('list locks from the command line, and contend for one, on the oldest Node', async ({ onTestFinished }) => {
      const redis = await startRedis()
      onTestFinished(() => redis.stop())
      await redis.command('SET', 'lock:order:1', 'of another library')
      const main = 'node_modules/@leasehold/cli/dist/bin/leasehold.js'
      const program = (...args: readonly string[]): Promise<Ended> =>
        run(oldestNode.binary, main, ...args, '--redis', redis.url, '--json').ended
      const listed = await program('ls')
      expect([listed.code, JSON.parse(listed.lines[0] ?? '{}')]).toMatchObject([0, { key: 'order:1', holders: 1 }])
      const contended = await program('stress', '--for', '500ms', '--processes', '2')
      expect([contended.code, JSON.parse(contended.lines[0] ?? '{}')]).toMatchObject([0, { kept: true }])
    })

    test(
      'run in workerd, as a Worker with its Durable Object',
      async () => {
        const worker = join(installation.folder, compiled(emitting('esm'), 'cloudflare'))
        expect(await inWorkerd(worker, { WATCHDOG: 'LeaseWatchdog' })).toBe('released 0')
      },
      timeoutMs,
    )

    test(
      'serve tests in Jest, in Vitest and in `node:test`',
      async () => {
        const module = (path: string): string => join(testFolder, 'node_modules', path)
        const jest = { rootDir: installation.folder, testMatch: ['<rootDir>/locks.test.cjs'], transform: {} }
        const vitest = ['run', '--root', '.', '--environment', 'node', 'locks.test.mjs']
        const outcomes = await Promise.all([
          summary(
            'Jest, cjs',
            run(node24.binary, module('jest/bin/jest.js'), '--ci', '--config', JSON.stringify(jest)),
          ),
          summary('Vitest, esm', run(node24.binary, module('vitest/vitest.mjs'), ...vitest)),
          summary('node:test, cjs', run(oldestNode.binary, '--test', 'locks.test.cjs')),
          summary('node:test, esm', run(oldestNode.binary, '--test', 'locks.test.mjs')),
        ])
        print(['', 'passed'], outcomes)
        expect(outcomes).toEqual([
          ['Jest, cjs', '3'],
          ['Vitest, esm', '4'],
          ['node:test, cjs', '3'],
          ['node:test, esm', '3'],
        ])
      },
      timeoutMs,
    )

    test('share what a process must have once, and know each other’s errors, when one is imported and one required', async () => {
      const { lines, err } = await run(node24.binary, 'two-builds.mjs').ended
      expect([JSON.parse(lines.at(-1) ?? 'null'), err]).toEqual([
        {
          builds: 2,
          known: [true, true],
          unknown: false,
          claims: 'completed',
          nests: true,
          handsOver: true,
          held: [true, true, false],
          writers: 1,
          turns: [1, 2, 3],
        },
        '',
      ])
    })

    test.each([
      ['default', true],
      ['workerd', false],
      ['edge-light', false],
    ])('share between calls under the condition %s: %s', async (condition, shares) => {
      const ask = `.sharesBetweenCalls())`
      const required = `console.log(require('@leasehold/core/adapter')${ask}`
      const imported = `console.log((await import('@leasehold/core/adapter'))${ask}`
      for (const [type, code] of [
        ['commonjs', required],
        ['module', imported],
      ] as const) {
        const program = run(node24.binary, '--conditions', condition, `--input-type=${type}`, '--eval', code)
        expect((await program.ended).lines).toEqual([String(shares)])
      }
    })
  })
}

/** Works in two lanes, since a small machine has two processors. */
async function twoAtATime<T>(items: readonly T[], work: (item: T, lane: number) => Promise<void>): Promise<void> {
  const queue = [...items]
  const inLane = async (lane: number): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item, lane)
  }
  await Promise.all([inLane(0), inLane(1)])
}

/** The number of passed tests that a runner reports; its whole output if one failed, or if the runner ended badly. */
async function summary(title: string, program: RunningProgram): Promise<[title: string, passed: string]> {
  const { code, lines, err }: Ended = await program.ended
  const said = `${lines.join('\n')}\n${err}`
  const [, passed] = /^(?:# pass|ℹ pass|Tests:|\s*Tests) +(\d+)/m.exec(said) ?? []
  return [title, code === 0 && passed ? passed : said]
}

function print(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => row[at]?.length ?? 0)))
  console.log([head, ...rows].map((row) => row.map((each, at) => each.padEnd(widths[at] ?? 0)).join('  ')).join('\n'))
}
