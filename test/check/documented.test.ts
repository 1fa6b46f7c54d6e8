import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { check, findingsKnown } from '@leasehold/core/check'
import { memoryStore } from '@leasehold/core/memory'
import type { IoredisClient } from '@leasehold/ioredis'
import { expect, test } from 'vitest'
import { clientFindings } from '../../packages/ioredis/src/client-findings.ts'

const page = await readFile(fileURLToPath(new URL('../../docs/check.md', import.meta.url)), 'utf8')

/** A client with every option that is told. */
const risky = { options: { commandTimeout: 1 } } as unknown as IoredisClient

test('the page has each finding with its severity and remedy, and no other', async () => {
  const { findings } = await check({ store: memoryStore() })
  const inCode = [...findingsKnown(), ...findings, ...clientFindings(risky)]
  const onPage = Array.from(page.matchAll(/^\| `([A-Z_]+)` \| (\w+) \| .+ \| (.+) \|$/gm), ([, ...cells]) => cells)
  expect(onPage).toEqual(inCode.map(({ code, severity, remedy }) => [code, severity, remedy]))
})
