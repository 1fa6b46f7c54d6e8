import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { soak } from '../support/scale.ts'
import type { ClaimResult } from './conformance/claim-runner.ts'
import { broken, type Client, clients, embedded, fetching, ioredis6, upstash } from './conformance/clients.ts'
import { type Place, places } from './conformance/places.ts'
import { startServers } from './conformance/servers.ts'
import { cellOf, figures, type Run, tables, withTables } from './conformance/table.ts'

/** A soak tries each client everywhere. The packages' own tests try each on Node 24. */
function clientsTriedOn({ name }: Place): readonly Client[] {
  if (soak) return clients
  if (name === 'Node 22' || name === 'Node 24') return [embedded]
  return [embedded, fetching, name === 'workerd' ? upstash : ioredis6]
}

/** Places beside each other, and their clients in turn: more at once would make claims late that wait for an expiry. */
const inTurn = { concurrent: false, timeout: 120_000 }

const page = fileURLToPath(new URL('../../docs/runtimes.md', import.meta.url))

async function run(place: Place, client: Client, signal: AbortSignal): Promise<readonly ClaimResult[]> {
  await using servers = client.alone ? undefined : await startServers()
  return await place.run(client, servers, signal)
}

const failed = (claims: readonly ClaimResult[]): readonly ClaimResult[] =>
  claims.filter(({ state }) => state === 'failed')

const runs: Run[] = []

describe.concurrent.each(places)('on $name,', (place) => {
  const missing = place.exists ? undefined : `There is no ${place.name} for ${process.platform} on ${process.arch}`

  for (const client of clientsTriedOn(place)) {
    test(`each claim holds with ${client.name}, or is skipped for a reason`, inTurn, async (context) => {
      const whyNot = missing ?? client.notOn?.[place.name]
      if (whyNot !== undefined) return context.skip(whyNot)
      const claims = await run(place, client, context.signal)
      runs.push({ place: place.name, client: client.name, claims })
      expect(failed(claims)).toEqual([])
    })
  }

  test('what does not hold fails', inTurn, async (context) => {
    if (missing !== undefined) return context.skip(missing)
    const names = failed(await run(place, broken, context.signal)).map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        'broken: a lease store > renew > a renewed lock is still held when its first ttl is over',
        'a hook that fails',
        'a hook that fails > leaves its claims without a run',
        'a skip for no reason',
      ]),
    )
  })
})

test('the page about runtimes says what was seen', async (context) => {
  const all = { places: places.map(({ name }) => name), clients: clients.map(({ name }) => name) }
  const seen = tables(runs, all)
  console.log(seen)
  if (runs.some(({ claims }) => failed(claims).length > 0)) return context.skip('A claim failed')
  const text = readFileSync(page, 'utf8')
  const works = places.flatMap(({ name }) => clients.filter(({ notOn }) => notOn?.[name] === undefined))
  if (runs.length === works.length) return await expect(withTables(text, seen)).toMatchFileSnapshot(page)
  for (const each of runs) {
    expect(cellOf(text, each, all.places), `${renew}: ${each.client} on ${each.place}`).toBe(figures(each))
  }
})

/** The whole of it takes a quiet machine some two minutes. */
const renew =
  'To renew docs/runtimes.md, run: LEASEHOLD_SOAK=1 pnpm exec vitest run test/runtimes/conformance.test.ts -u'
