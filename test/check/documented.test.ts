import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Finding } from '@leasehold/core/adapter'
import { check, knownFindings } from '@leasehold/core/check'
import { memoryStore } from '@leasehold/core/memory'
import type { IoredisClient } from '@leasehold/ioredis'
import { expect, test } from 'vitest'
import { clientFindings as ioredisFindings } from '../../packages/ioredis/src/client-findings.ts'
import { clientFindings as nodeRedisFindings } from '../../packages/node-redis/src/client-findings.ts'
import type { NodeRedisClient } from '../../packages/node-redis/src/index.ts'

/* The page lists each finding with its severity and remedy, and no others. */

const page = await readFile(fileURLToPath(new URL('../../docs/check.md', import.meta.url)), 'utf8')
const rows = (form: RegExp): readonly (readonly string[])[] =>
  Array.from(page.matchAll(form), ([, ...cells]) => cells.map((cell) => cell.replaceAll('\\|', '|')))

test('those of a check', async () => {
  const { findings } = await check({ store: memoryStore() })
  const inCode = [...knownFindings(), ...findings]
  expect(rows(/^\| `(?!CLIENT_)([A-Z_]+)` \| (\w+) \| .+ \| (.+) \|$/gm)).toEqual(
    inCode.map(({ code, severity, remedy }) => [code, severity, remedy]),
  )
})

test('those of adapters', async () => {
  // Clients with every option that is reported.
  const ioredis = { options: { commandTimeout: 1 } } as unknown as IoredisClient
  const nodeRedis = {
    options: { socket: { reconnectStrategy: false }, commandsQueueMaxLength: 1 },
  } as unknown as NodeRedisClient
  const of = (client: string, findings: readonly Finding[]): readonly (readonly string[])[] =>
    findings.map(({ code, severity, remedy }) => [code, severity, client, remedy])
  expect(rows(/^\| `(CLIENT_[A-Z_]+)` \| (\w+) \| ([\w-]+) \| .+ \| (.+) \|$/gm)).toEqual([
    ...of('ioredis', ioredisFindings(ioredis)),
    ...of('node-redis', await nodeRedisFindings(nodeRedis)),
  ])
})
