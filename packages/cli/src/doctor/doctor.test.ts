import { createLocker } from '@leasehold/core'
import { ioredisBackend } from '@leasehold/ioredis'
import { type RedisServer, startRedis, startRedisCluster, startRedisSentinel } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, test } from 'vitest'
import { soak } from '../../../../test/support/scale.ts'
import { bridgeToken, startTestBridge } from '../../../bridge/test/bridge.ts'
import { startTestGateway, token } from '../../../bridge/test/gateway.ts'
import { run } from '../../test/program.ts'
import { ProgramOnTerminal } from '../../test/terminal.ts'
import type { Invocation } from '../cli-command.ts'
import { bridgeSettings } from './bridge-settings.ts'
import { type Diagnosis, diagnose } from './diagnose.ts'
import { doctor } from './index.ts'

/* The doctor in a real terminal, with a server set up for locks and with servers that have something wrong. */

const password = 'a-password-that-nobody-may-see'
const kept = ['--appendonly', 'yes']
const stops: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

async function started(...args: readonly string[]): Promise<RedisServer> {
  const server = await startRedis({ args: [...kept, ...args] })
  stops.push(() => server.stop())
  return server
}

/** What the doctor examines, and how to cure what it finds, as the remedy says. */
interface Patient {
  readonly url: string
  readonly args?: readonly string[]
  /** Follows the remedy, and returns the arguments for the second call. */
  healed(): Promise<{ readonly url: string; readonly args?: readonly string[] }>
}

async function withUser(...rules: readonly string[]): Promise<Patient> {
  const server = await started()
  const set = (...more: readonly string[]): Promise<unknown> => server.command('ACL', 'SETUSER', 'shop', ...more)
  await set('reset', 'on', `>${password}`, '~*', '&*', '+@all', ...rules)
  const url = `redis://shop:${password}@127.0.0.1:${server.port}`
  return {
    url,
    async healed() {
      const { out } = await run(['doctor', '--json'], { LEASEHOLD_REDIS: url })
      const { findings } = JSON.parse(out) as { readonly findings: readonly { readonly remedy: string }[] }
      for (const { remedy } of findings) await set(...(/<user> ([^`]+)`/.exec(remedy)?.[1]?.split(' ') ?? []))
      return { url }
    },
  }
}

const patients: Readonly<Record<string, readonly [open: () => Promise<Patient>, finding: RegExp, exit: number]>> = {
  'that evicts': [
    async () => {
      const server = await started('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru')
      return {
        url: server.url,
        async healed() {
          await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
          return { url: server.url }
        },
      }
    },
    /^error +EVICTS_LOCKS$/m,
    1,
  ],
  'that is a replica': [
    async () => {
      const primary = await started()
      const replica = await startRedis({ replicaOf: primary, args: kept })
      stops.push(() => replica.stop())
      return { url: replica.url, healed: async () => ({ url: primary.url }) }
    },
    /^error +IS_REPLICA$/m,
    1,
  ],
  'that lets nobody run scripts': [() => withUser('-eval', '-evalsha'), /^error +SCRIPTS_FORBIDDEN$/m, 1],
  'that lets nobody publish': [() => withUser('-publish'), /^warning +PUBLISH_FORBIDDEN$/m, 0],
  'that lets nobody listen': [() => withUser('-subscribe'), /^warning +LISTEN_FORBIDDEN$/m, 0],
  'whose keys have another prefix': [
    async () => {
      const patient = await withUser('resetkeys', '~shop:*', '~{*shop:*')
      return { ...patient, healed: async () => ({ url: patient.url, args: ['--prefix', 'shop:'] }) }
    },
    /^error +KEYS_FORBIDDEN$/m,
    1,
  ],
  'whose locks have another prefix, and that lets everybody do all': [
    async () => {
      const server = await started()
      const client = new Redis(server.port)
      await using locks = createLocker(ioredisBackend(client, { prefix: 'shop:' }))
      // What is left of a lock that nobody holds anymore is enough.
      await locks.withLock('order:1', () => undefined)
      client.disconnect()
      return { url: server.url, healed: async () => ({ url: server.url, args: ['--prefix', 'shop:'] }) }
    },
    /^info +OTHER_PREFIX$[\s\S]*"shop:order:1"[\s\S]*--prefix/m,
    0,
  ],
  'that is a Sentinel': [
    async () => {
      const set = await startRedisSentinel({ replicas: 0, sentinels: 1, args: kept })
      stops.push(() => set.stop())
      const url = set.sentinels[0]?.url ?? ''
      return { url, healed: async () => ({ url, args: ['--sentinel', set.name] }) }
    },
    /^error +IS_SENTINEL$/m,
    1,
  ],
  'that is a node of a cluster': [
    async () => {
      const cluster = await startRedisCluster({ args: kept })
      stops.push(() => cluster.stop())
      const url = cluster.nodes[0]?.url ?? ''
      return { url, healed: async () => ({ url, args: ['--cluster'] }) }
    },
    /^error +CLUSTER_NEEDS_CLIENT$/m,
    1,
  ],
}

/** What the doctor shows on a terminal of 80 columns, and its exit code. */
async function seen(url: string, args: readonly string[] = []): Promise<readonly [screen: string, exit: number]> {
  await using program = new ProgramOnTerminal(['doctor', ...args], 80, { LEASEHOLD_REDIS: url })
  const exit = await program.ended()
  expect([program.broken(), program.raw.includes(password)]).toEqual([0, false])
  return [program.screen().join('\n'), exit]
}

describe('before a server', { concurrent: true }, () => {
  test('for locks, it finds nothing, and shows the times', async () => {
    const server = await started()
    const [screen, exit] = await seen(server.url)
    expect(screen).toMatch(/Nothing is wrong$/)
    expect(screen).not.toContain('info')
    expect(screen).toMatch(/^ {2}redis \d+\.\d+\.\d+ primary noeviction$/m)
    for (const time of ['round trip', 'script', 'wake-up']) {
      expect(screen).toMatch(new RegExp(`^${time} +\\d+(\\.\\d\\d)? ms +\\d+(\\.\\d\\d)? ms +10$`, 'm'))
    }
    expect(exit).toBe(0)
  })

  test.each(Object.entries(patients))('%s, it says so, and what to do', async (_, [open, finding, expected]) => {
    const patient = await open()
    const [screen, exit] = await seen(patient.url, patient.args)
    expect(screen).toMatch(finding)
    expect(screen).toMatch(/^ +Remedy: /m)
    expect(exit).toBe(expected)
    // A second look costs another process. `test/check` follows each remedy in any case.
    if (!soak) return
    const { url, args } = await patient.healed()
    expect(await seen(url, args)).toEqual([expect.stringMatching(/Nothing is wrong$/), 0])
  })

  test('that nobody runs, or that does not let it in, it exits with 3', async () => {
    const away = await run(['doctor'], { LEASEHOLD_REDIS: 'redis://127.0.0.1:9' })
    expect([away.code, away.out]).toEqual([3, expect.stringContaining('UNREACHABLE')])
    const server = await started('--requirepass', password)
    const wrong = 'not-that-password'
    const { code, out } = await run(['doctor', '--json'], {
      LEASEHOLD_REDIS: `redis://:${wrong}@127.0.0.1:${server.port}`,
    })
    expect(JSON.parse(out)).toMatchObject({ findings: [{ code: 'LOGIN_REFUSED' }], facts: { reached: false } })
    expect([code, out.includes(wrong)]).toEqual([3, false])
  })
})

/* The same without a process of its own. */

const connection = { token: undefined, prefix: 'lock:', cluster: false, sentinel: undefined }
const options = { rounds: 3, deadline: '10s' } as const
const found = ({ findings }: Diagnosis): readonly string[] => findings.map(({ about, code }) => `${about} ${code}`)

test('over HTTP it sees as much, and hears nothing', async () => {
  await using gateway = await startTestGateway()
  await gateway.server.command('CONFIG', 'SET', 'appendonly', 'yes')
  const diagnosis = await diagnose({ ...connection, url: gateway.url, token }, undefined, options)
  expect(diagnosis).toMatchObject({ findings: [], facts: { ping: null, script: { rounds: 3 } }, bridge: null })
})

test.each([
  ['in the open', ''],
  ['behind a password', `:${password}@`],
])('a server %s that stands still takes no longer than the deadline', async (_, credentials) => {
  const server = await started()
  server.pause()
  const url = `redis://${credentials}127.0.0.1:${server.port}`
  const fromMs = performance.now()
  const diagnosis = await diagnose({ ...connection, url }, undefined, { rounds: 1, deadline: '300ms' })
  expect(performance.now() - fromMs).toBeLessThan(3_000)
  expect([found(diagnosis), diagnosis.facts.reached]).toEqual([['redis UNREACHABLE'], false])
})

test('a bridge: its wake-ups, a prefix that differs, a token that it does not know', async () => {
  await using bridge = await startTestBridge()
  await bridge.server.command('CONFIG', 'SET', 'appendonly', 'yes')
  const before = (prefix: string, bridgesToken: string): Promise<Diagnosis> =>
    diagnose({ ...connection, prefix, url: bridge.server.url }, { url: bridge.url, token: bridgesToken }, options)
  const well = await before('lock:', bridgeToken)
  expect([found(well), well.bridge]).toMatchObject([[], { url: bridge.url, wakeUp: { rounds: 3 } }])
  expect(found(await before('shop:', bridgeToken))).toEqual(['bridge PREFIX_MISMATCH'])
  const unknown = 'unknown-token-0123456789abcdef'
  const refused = await before('lock:', unknown)
  expect(found(refused)).toEqual(['bridge NOT_LISTENING'])
  expect(JSON.stringify(refused)).not.toContain(unknown)
})

test('options that cannot be are refused by name, and no token is shown', async () => {
  const refusal = async (given: Readonly<Record<string, string>>, env = {}): Promise<unknown> =>
    doctor
      .run({ options: { rounds: '10', deadline: '15s', ...given }, env, args: [], json: true } as unknown as Invocation)
      .catch((error: unknown) => error)
  expect(await refusal({ rounds: '0' })).toMatchObject({ message: expect.stringContaining('--rounds') })
  expect(await refusal({ bridge: 'nowhere' })).toMatchObject({ message: expect.stringContaining('--bridge') })
  expect(await refusal({ bridge: 'http://127.0.0.1:9' })).toMatchObject({ message: expect.stringContaining('token') })
  expect(bridgeSettings({}, { LEASEHOLD_BRIDGE_URL: 'http://b', LEASEHOLD_BRIDGE_TOKENS: 'one, two' })).toEqual({
    url: 'http://b',
    token: 'one',
  })
  expect(bridgeSettings({}, {})).toBeUndefined()
})
