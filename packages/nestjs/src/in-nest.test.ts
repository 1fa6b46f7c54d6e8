import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Installation, installPackages } from '../../../test/runtimes/installed-packages.ts'
import { type RunningProgram, runProgram } from '../../../test/runtimes/running-program.ts'
import { eventually, limit, ms, rounds, soak } from '../../../test/support/scale.ts'
import { freePort } from '../../testkit/src/free-port.ts'
import { type NestProject, type NestVersion, nestProject } from '../test/nest-project.ts'

/*
 * Applications as users have them: compiled by `tsc`, with our packages as published, in their own processes. A short
 * run takes each version in the module format of its new projects; all were tried in both.
 */
const newest: NestVersion = { nest: '12', format: 'esm' }
const versions: readonly NestVersion[] = [
  newest,
  { nest: '11', format: 'cjs' },
  { nest: '10', format: 'cjs' },
  ...(soak
    ? ([
        { nest: '12', format: 'cjs' },
        { nest: '11', format: 'esm' },
        { nest: '10', format: 'esm' },
      ] as const)
    : []),
]

const appFolder = fileURLToPath(new URL('../test/app', import.meta.url))
const app = Object.fromEntries(
  readdirSync(appFolder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name, readFileSync(`${appFolder}/${name}`, 'utf8')]),
)
const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8')
const readmeFiles = Object.fromEntries(
  Array.from(readme.matchAll(/^```ts.*\n\/\/ src\/(\S+)\n([\s\S]*?)^```$/gm), ([, name, code]) => [
    name,
    code as string,
  ]),
)

/** In milliseconds, for three packages and an application for each version, on a machine busy with other tests. */
const buildTimeoutMs = 240_000

let installed: Installation
let redis: RedisServer
let projects: ReadonlyMap<NestVersion, NestProject>
beforeAll(async () => {
  ;[installed, redis] = await Promise.all([installPackages('core', 'ioredis', 'nestjs'), startRedis()])
  const made = versions.map(async (version) => [version, await nestProject(installed, version, app)] as const)
  projects = new Map(await Promise.all(made))
}, buildTimeoutMs)
afterAll(async () => {
  await Promise.all([...projects.values(), installed].map((each) => each[Symbol.asyncDispose]()))
  await redis.stop()
})

/** A running instance of an application. */
interface Instance {
  readonly program: RunningProgram
  readonly ask: (path: string) => Promise<Response>
}

async function startInstance({ main, folder }: NestProject, env: NodeJS.ProcessEnv): Promise<Instance> {
  const program = runProgram([process.execPath, main], folder, { REDIS_URL: redis.url, ...env })
  const [url] = /http:\/\/\S+/.exec(await program.line(/http:/)) ?? []
  return { program, ask: (path) => fetch(`${url}${path}`) }
}

describe.concurrent.each(versions)('in Nest $nest, as $format', (version) => {
  let instances: readonly Instance[]
  beforeAll(async () => {
    const project = projects.get(version) as NestProject
    const env = { WAIT_MS: String(ms(3_000, 2_000)) }
    const processes = await Promise.all(
      [...Array(soak || version === newest ? 3 : 1)].map(() => startInstance(project, env)),
    )
    // Three calls at once, in the same process if there is only one.
    instances = [0, 1, 2].map((index) => processes[index % processes.length] as Instance)
  })
  afterAll(async () => {
    await Promise.all(instances.map(({ program }) => program.kill()))
  })
  const name = `${version.nest}${version.format}`
  /**
   * Makes three calls at once. All served calls but the last continue at once; the last one when the others are
   * refused.
   */
  async function contend(path: string, served: number): Promise<readonly string[]> {
    const gate = `gate:${path}`
    const goOn = (): Promise<unknown> => redis.command('RPUSH', gate, 'go')
    let refused = 0
    const calls = instances.map(async ({ ask }) => {
      const answer = await ask(`${path}?gate=${gate}`)
      if (answer.status !== 200 && ++refused === instances.length - served) await goOn()
      return `${answer.status} ${await answer.text()}`
    })
    for (let before = 1; before < served; before++) await goOn()
    return (await Promise.all(calls)).toSorted()
  }

  it('of three calls that contend for a method two are served, and the third gets the failure message', async () => {
    const key = `order:${name}a:7`
    const answers = await contend(`/orders/${name}a/7/process`, 2)
    const message = `This order is being processed for ${name}a`
    const refusal = JSON.stringify({ message, error: 'Conflict', statusCode: 409 })
    expect(answers).toEqual([`200 ${key} true`, `200 ${key} true`, `409 ${refusal}`])
    expect(await redis.command('EXISTS', `lock:${key}`)).toBe(0)
  })

  it.each(['above', 'below'])('a route keeps the decorators that stand around it, %s it', async (place) => {
    const [{ ask }] = instances as [Instance]
    expect((await ask(`/orders/${name}/${place}?quantity=2&role=guest`)).status).toBe(403)
    expect((await ask(`/orders/${name}/${place}?quantity=x&role=clerk`)).status).toBe(400)
    const answer = await ask(`/orders/${name}/${place}?quantity=2&role=clerk`)
    expect([answer.status, answer.headers.get('x-from')]).toEqual([202, place === 'below' ? 'below' : null])
    expect(await answer.json()).toEqual({ id: name, quantity: 2, held: true })
  })

  it('a class that inherits is guarded by its own methods and by those it inherits', async () => {
    const [first, ...refused] = await contend(`/orders/${name}/cancel`, 1)
    expect([first, ...refused.map((each) => each.slice(0, 3))]).toEqual([`200 cancel:${name} true`, '423', '423'])
    expect((await contend(`/orders/${name}i/inherited`, 2))[0]).toBe(`200 order:${name}i:7 true`)
  })

  it('providers that are made for each request are guarded', async () => {
    const [first, ...refused] = await contend(`/orders/${name}/request`, 1)
    expect([first, ...refused.map((each) => each.slice(0, 3))]).toEqual([`200 true request:${name} true`, '409', '409'])
  })
})

describe.each(soak ? versions : [newest])('an application in Nest $nest, as $format', (version) => {
  const running: RunningProgram[] = []
  afterAll(async () => {
    for (const program of running) await program.kill()
  })
  /** How many applications are subscribed once they have started. */
  async function subscribers(): Promise<unknown> {
    const [, count] = (await redis.command('PUBSUB', 'NUMSUB', 'lock:release:leasehold:nestjs')) as [string, unknown]
    return count
  }
  async function start(env: NodeJS.ProcessEnv = {}): Promise<Instance> {
    const instance = await startInstance(projects.get(version) as NestProject, env)
    running.push(instance.program)
    return instance
  }

  it('subscribes when it starts; told to end, it answers what runs, gives the lock back, and refuses who waits at once', async () => {
    const [a, b] = await Promise.all([1, 2].map(() => start({ WAIT_MS: '30000' })))
    expect(await subscribers()).toBe(2)
    const path = '/orders/ending/7/process?gate=ending'
    const running = a?.ask(path)
    await expect.poll(() => redis.command('EXISTS', 'lock:order:ending:7')).toBe(1)
    const waiting = b?.ask(path)
    await expect.poll(() => redis.command('PUBSUB', 'CHANNELS', '*ending*')).toHaveLength(1)
    for (const each of [a, b]) each?.program.terminate()
    expect((await waiting)?.status).toBe(503)
    expect(await redis.command('EXISTS', 'lock:order:ending:7')).toBe(1)
    await redis.command('RPUSH', 'ending', 'go')
    expect(await (await running)?.text()).toBe('order:ending:7 true')
    const ended = await Promise.all([a, b].map((each) => each?.program.ended))
    for (const each of ended)
      expect([each?.err, each?.lines.filter((line) => line.includes('ERROR'))]).toEqual(['', []])
    expect([await redis.command('EXISTS', 'lock:order:ending:7'), await subscribers()]).toEqual([0, 0])
  })

  it('of three instances one runs each job at a time, and one that outlasts its interval is warned of where it runs', async () => {
    const programs = (await Promise.all([0, 1, 2].map(() => start({ JOBS: '1' })))).map(({ program }) => program)
    const printed = (pattern: RegExp): readonly string[] =>
      programs.flatMap(({ lines }) => lines.filter((line) => pattern.test(line)))
    const overran = /WARN.*JobsService\.long is due and skipped/
    const enough = (): boolean =>
      printed(/^ran short/).length >= rounds(20, 3) && printed(overran).length >= rounds(9, 2)
    await eventually(enough, 60_000)
    for (const program of programs) await program.kill()
    const seconds = printed(/^ran short/).map((line) => line.split(' ')[2])
    expect(new Set(seconds).size).toBe(seconds.length)
    expect(printed(/^ran short.* false$/)).toEqual([])
    const long = /^long (begins|ends)/
    const byTime = printed(long).toSorted((a, b) => a.slice(-13).localeCompare(b.slice(-13)) || b.localeCompare(a))
    for (const [index, line] of byTime.entries()) expect(line).toMatch(index % 2 ? 'ends' : 'begins')
    for (const { lines } of programs) {
      const kinds = lines.flatMap((line) => long.exec(line)?.[1] ?? (overran.test(line) ? 'warns' : []))
      expect(kinds.join(' ')).toMatch(/^(begins (warns )*ends ?)*(begins( warns)*)?$/)
    }
  })
})

/** With the filter of the README, registered as it says. */
const withFilter = (files: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const { 'app.module.ts': module = '', ...others } = files
  const [provider] = /\{ provide: APP_FILTER.*? \}/.exec(readme) ?? []
  const imports = `import { APP_FILTER } from '@nestjs/core'\nimport { UnavailableFilter } from './unavailable.filter.js'\n`
  return { ...others, 'app.module.ts': imports + module.replace('[OrdersService]', `[OrdersService, ${provider}]`) }
}

/** The README's program, with half of its times. */
const shorter = (files: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const { 'orders.service.ts': service = '', ...others } = files
  return soak
    ? files
    : { ...others, 'orders.service.ts': service.replace("'3s'", "'1500ms'").replace('2_000', '1_000') }
}

/** What the README's test uses of Jest. */
const jestTypes = `
  declare function it(name: string, run: () => Promise<void>): void
  declare function expect(actual: unknown): { readonly rejects: { toMatchObject(expected: object): Promise<void> } }
`

describe('the README', () => {
  let project: NestProject
  beforeAll(async () => {
    project = await nestProject(installed, newest, withFilter(shorter(readmeFiles)))
  }, buildTimeoutMs)
  afterAll(() => project[Symbol.asyncDispose]())

  async function started(redisUrl: string, onTestFinished: (end: () => Promise<void>) => void): Promise<string> {
    const port = await freePort()
    const program = runProgram([process.execPath, project.main], project.folder, {
      REDIS_URL: redisUrl,
      PORT: String(port),
    })
    onTestFinished(program.kill)
    await program.line(/successfully started/)
    // It reports this before it listens.
    await eventually(() => fetch(`http://localhost:${port}/`).then(Boolean, () => false))
    return `http://localhost:${port}/orders/ada/book`
  }

  it('has an application in which three instances contend for a method', async ({ onTestFinished }) => {
    const urls = await Promise.all([0, 1, 2].map(() => started(redis.url, onTestFinished)))
    const startedAt = performance.now()
    const answers = await Promise.all(
      urls.map(async (url) => {
        const answer = await fetch(url)
        return { status: answer.status, text: await answer.text(), tookMs: performance.now() - startedAt }
      }),
    )
    const shown = readme.match(/(?<=^# )(?:book|\{).*$/gm)
    expect(answers.map(({ text }) => text).toSorted()).toEqual(shown?.toSorted())
    const waitMs = soak ? 3_000 : 1_500
    const refused = answers.find(({ status }) => status === 409)
    expect(refused?.tookMs).toBeGreaterThanOrEqual(waitMs)
    expect(refused?.tookMs).toBeLessThan(limit(waitMs + 1_000))
  })

  it('has a test of a service, which passes in the Jest of a CommonJS project', async ({ onTestFinished }) => {
    const [, spec = ''] = /^```ts.*\n\/\/ test\/orders\.service\.spec\.ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
    const { 'orders.service.ts': service = '' } = shorter(readmeFiles)
    const sources = {
      'orders.service.ts': service,
      'orders.service.spec.ts': spec.replace('../src/', './'),
      'jest.d.ts': jestTypes,
    }
    const tested = await nestProject(installed, { nest: '11', format: 'cjs' }, sources)
    onTestFinished(() => tested[Symbol.asyncDispose]())
    const config = { rootDir: join(tested.folder, 'dist'), testMatch: ['**/*.spec.js'], transform: {} }
    const jest = fileURLToPath(new URL('../../../test/node_modules/jest/bin/jest.js', import.meta.url))
    const command = [process.execPath, jest, '--ci', '--config', JSON.stringify(config)]
    const { code, err } = await runProgram(command, tested.folder).ended
    expect([code, err]).toEqual([0, expect.stringMatching(/^Tests: +1 passed, 1 total$/m)])
  })

  it('has a filter that answers 503 when Redis does not answer', async ({ onTestFinished }) => {
    const url = await started(`redis://127.0.0.1:${await freePort()}`, onTestFinished)
    const answer = await fetch(url)
    expect([answer.status, await answer.json()]).toEqual([503, expect.objectContaining({ message: 'Try again' })])
  })
})
