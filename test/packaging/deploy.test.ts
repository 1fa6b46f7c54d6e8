import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { composeOf, type Service } from './compose.ts'
import { stagesOf, textsOf } from './dockerfile.ts'

/*
 * Does what `deploy/` says: with Docker where it runs, otherwise with the Dockerfile's own steps, in a folder that has
 * only what they copy.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const run = promisify(execFile)

const stages = stagesOf(read('deploy/Dockerfile'))
const token = '0123456789abcdef'.repeat(4)
const variables = { LEASEHOLD_BRIDGE_TOKENS: token, LEASEHOLD_GATEWAY_TOKENS: token }
const compose = composeOf(read('deploy/compose.yaml'), variables)
const serviceOf = (name: string): Service => compose.services[name] as Service
const programs = ['bridge', 'gateway'] as const
type Program = (typeof programs)[number]

const hasDocker = await run('docker', ['info']).then(
  () => true,
  () => false,
)
const tagOf = (program: Program): string => `leasehold-test-${program}`

let folder: string
let redis: RedisServer
beforeAll(async () => {
  // With the arguments from the compose file: a server that does not know one does not start.
  redis = await startRedis({ args: serviceOf('redis').command?.slice(1) ?? [] })
  folder = mkdtempSync(join(tmpdir(), 'leasehold-deploy-'))
  if (hasDocker) await buildImages()
  else await takeSteps()
}, 300_000)
const children: ChildProcess[] = []
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
  await redis.stop()
})

async function buildImages(): Promise<void> {
  const options = { cwd: root, env: { ...process.env, ...variables } }
  await run('docker', ['compose', '--file', 'deploy/compose.yaml', 'config', '--quiet'], options)
  for (const program of programs) {
    const { dockerfile = '', target = '' } = serviceOf(program).build ?? {}
    await run('docker', ['build', '--file', dockerfile, '--target', target, '--tag', tagOf(program), '.'], options)
  }
}

/** Does what building the image does: copies its files, and then runs its commands. */
async function takeSteps(): Promise<void> {
  const copied = textsOf(stages, 'built', 'COPY').map((text) => text.split(' '))
  for (const path of copied.flatMap((paths) => paths.slice(0, -1))) {
    cpSync(join(root, path), join(folder, path), {
      recursive: true,
      filter: (each) => !/\/(?:node_modules|dist|\.types)$/.test(each),
    })
  }
  for (const command of textsOf(stages, 'built', 'RUN')) await run('sh', ['-c', command], { cwd: folder })
}

interface Started {
  readonly url: string
  /** Runs the service's health check as written in the compose file; returns its exit code. */
  checkHealth(): Promise<number>
  /** Returns how the service ended, and how many milliseconds that took. */
  stop(): Promise<{ code: number | null; tookMs: number }>
}

/** Starts a service as in the compose file, except for its Redis and, outside a container, its address. */
async function start(program: Program): Promise<Started> {
  const name = program.toUpperCase()
  const fixed = textsOf(stages, program, 'ENV').flatMap((text) => text.split(' ').map((each) => each.split('=')))
  const env: Record<string, string> = {
    ...Object.fromEntries(fixed),
    ...serviceOf(program).environment,
    [`LEASEHOLD_${name}_REDIS`]: redis.url,
    [`LEASEHOLD_${name}_PORT`]: '0',
    [`LEASEHOLD_${name}_HOST`]: '127.0.0.1',
  }
  const container = `${tagOf(program)}-${process.pid}`
  const options = ['run', '--rm', '--init', '--read-only', '--cap-drop=ALL', '--network=host', `--name=${container}`]
  const variables = Object.entries(env).map(([key, value]) => `--env=${key}=${value}`)
  const entry = JSON.parse(textsOf(stages, program, 'ENTRYPOINT').at(-1) ?? '') as [string, ...string[]]
  const [command, ...args] = hasDocker ? ['docker', ...options, ...variables, tagOf(program)] : entry

  const { PATH, LEASEHOLD_TEST_RUN, NODE_COMPILE_CACHE } = process.env
  const inherited = { PATH, LEASEHOLD_TEST_RUN, NODE_COMPILE_CACHE }
  const place = { cwd: join(folder, hasDocker ? '.' : 'programs'), env: { ...inherited, ...(hasDocker ? {} : env) } }
  const child = spawn(command, args, { ...place, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  const ended = once(child, 'close')
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      output += chunk
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output)
      if (found) resolve(found[0])
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    void ended.then(() => reject(new Error(`It ended: ${output}`)))
  })
  const [, check = '', ...checkArgs] = serviceOf(program).healthcheck.test
  const port = { [`LEASEHOLD_${name}_PORT`]: new URL(url).port }
  return {
    url,
    async checkHealth() {
      const checking = hasDocker
        ? run('docker', ['exec', `--env=LEASEHOLD_${name}_PORT=${new URL(url).port}`, container, check, ...checkArgs])
        : run(check, checkArgs, { cwd: place.cwd, env: { ...place.env, ...port } })
      return checking.then(
        () => 0,
        (error: { code: number }) => error.code,
      )
    },
    async stop() {
      const from = performance.now()
      child.kill('SIGTERM')
      const [code] = await ended
      return { code: code as number | null, tookMs: performance.now() - from }
    },
  }
}

const authorized = { authorization: `Bearer ${token}` }
const graceMs = (program: Program): number => Number.parseFloat(serviceOf(program).stop_grace_period) * 1_000

test(`the bridge is ready, answers waiters, and ends on SIGTERM ${hasDocker ? 'in a container' : 'by its steps'}`, async () => {
  const bridge = await start('bridge')
  expect(await bridge.checkHealth()).toBe(0)
  await redis.command('SET', 'lock:deployed', `${'0'.repeat(32)}.1763942400000000`, 'PX', 60_000)
  const query = 'key=deployed&since=1763942400000000'
  const answering = fetch(`${bridge.url}/v1/wait?${query}`, { headers: authorized })
  const stream = await fetch(`${bridge.url}/v1/events?key=deployed`, { headers: authorized })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  // Once it has sent the state, it hears releases.
  let told = ''
  while (!told.includes('event: state')) told += (await reader?.read())?.value ?? ''
  await redis.command('DEL', 'lock:deployed')
  await redis.command('PUBLISH', 'lock:release:deployed', 'released 1763942400000000')
  expect(await (await answering).json()).toEqual({ changed: true })
  // The stream is still open.
  const { code, tookMs } = await bridge.stop()
  expect(code).toBe(0)
  expect(tookMs).toBeLessThan(graceMs('bridge'))
  expect(await bridge.checkHealth()).toBe(1)
  await reader?.cancel().catch(() => undefined)
}, 60_000)

test(`the gateway is ready, takes commands, and ends on SIGTERM ${hasDocker ? 'in a container' : 'by its steps'}`, async () => {
  const gateway = await start('gateway')
  expect(await gateway.checkHealth()).toBe(0)
  const command = { method: 'POST', headers: authorized, body: '["SET","deployed","yes"]' }
  expect(await (await fetch(gateway.url, command)).json()).toEqual({ result: 'OK' })
  expect(await redis.command('GET', 'deployed')).toBe('yes')
  const { code, tookMs } = await gateway.stop()
  expect(code).toBe(0)
  expect(tookMs).toBeLessThan(graceMs('gateway'))
  expect(await gateway.checkHealth()).toBe(1)
}, 60_000)

describe('the Dockerfile', () => {
  test.each(programs)('has the %s as a target that is not root, and that gets its signals itself', (program) => {
    expect(textsOf(stages, program, 'USER').at(-1)).not.toMatch(/^(?:root|0)\b|^$/)
    const entry = JSON.parse(textsOf(stages, program, 'ENTRYPOINT').at(-1) ?? '') as readonly string[]
    expect(entry[0]).toBe('node')
    expect(textsOf(stages, program, 'EXPOSE')).toEqual(serviceOf(program).ports.map((port) => port.split(':').at(-1)))
  })

  test('copies nothing but the programs into what runs', () => {
    for (const program of programs) {
      expect(textsOf(stages, program, 'COPY')).toEqual(['--from=built /leasehold/programs ./'])
      expect(textsOf(stages, program, 'RUN')).toEqual([])
    }
  })

  test('is given all that it copies, and no folder of modules or secrets', () => {
    const kept = read('deploy/Dockerfile.dockerignore').split('\n')
    const copied = textsOf(stages, 'built', 'COPY').flatMap((text) => text.split(' ').slice(0, -1))
    expect(kept).toEqual(
      expect.arrayContaining(['*', '**/node_modules', '**/.env*', ...copied.map((path) => `!${path}`)]),
    )
  })
})

describe('the compose file', () => {
  const names = Object.keys(compose.services)

  test('has Redis, the gateway and the bridge', () => {
    expect(names).toEqual(['redis', 'gateway', 'bridge'])
  })

  test.each(names)('publishes %s to this machine only, and lets it do no more than it must', (name) => {
    const service = serviceOf(name)
    expect(service.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+:\d+$/)])
    expect(service).toMatchObject({ restart: 'unless-stopped', init: true, read_only: true, cap_drop: ['ALL'] })
    expect(service.healthcheck.test[0]).toBe('CMD')
  })

  test.each(programs)('starts the %s once Redis answers, and gives it time to end', (program) => {
    const service = serviceOf(program)
    expect(service.depends_on?.['redis']).toEqual({ condition: 'service_healthy' })
    expect(service.build).toEqual({ context: '..', dockerfile: 'deploy/Dockerfile', target: program })
    // The longest that the programs take to stop: a request's deadline of 5 s plus a second.
    expect(graceMs(program)).toBeGreaterThan(6_000)
  })

  test.each(programs)('names only variables that the %s knows', async (program) => {
    const [binary = '', ...args] = JSON.parse(textsOf(stages, program, 'ENTRYPOINT').at(-1) ?? '') as string[]
    const { stdout } = hasDocker
      ? await run('docker', ['run', '--rm', tagOf(program), '--help'])
      : await run(binary, [...args, '--help'], { cwd: join(folder, 'programs') })
    const fixed = textsOf(stages, program, 'ENV').flatMap((text) => text.split(' ').map((each) => each.split('=')[0]))
    const named = [...Object.keys(serviceOf(program).environment ?? {}), ...fixed]
    expect(named.filter((name) => name !== 'NODE_ENV' && !stdout.includes(`${name}`))).toEqual([])
  })

  test.each(programs)('refuses to start the %s without a token of its own', (program) => {
    const name = `LEASEHOLD_${program.toUpperCase()}_TOKENS`
    const without = { ...variables, [name]: '' }
    expect(() => composeOf(read('deploy/compose.yaml'), without)).toThrow(`${name}: set it to 32 characters or more`)
  })

  test('has a Redis that evicts nothing, and whose changes outlive a restart', async () => {
    expect(await redis.command('CONFIG', 'GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
    expect(await redis.command('CONFIG', 'GET', 'appendonly')).toEqual(['appendonly', 'yes'])
    expect(serviceOf('redis').volumes).toEqual(['redis:/data'])
    expect(compose.volumes).toHaveProperty('redis')
    expect(serviceOf('redis').user).toBe('redis')
  })
})
