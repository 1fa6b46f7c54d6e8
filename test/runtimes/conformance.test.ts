import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { soak } from '../support/scale.ts'
import type { ClaimResult } from './conformance/claim-runner.ts'
import { broken, type Client, clients, embedded, fetching, ioredis6, upstash } from './conformance/clients.ts'
import { type Figures, figuresOf, fromJsonLines, tables, toJsonLines, withTables } from './conformance/figures.ts'
import { type Place, places } from './conformance/places.ts'
import { startServers } from './conformance/servers.ts'

/** A soak tries each client everywhere. The packages' own tests try each on Node 24. */
function clientsTriedOn({ name }: Place): readonly Client[] {
  if (soak) return clients
  if (name === 'Node 22' || name === 'Node 24') return [embedded]
  if (name === 'workerd') return [embedded, fetching, upstash]
  // Not all over HTTP at once: the gateways are in this process.
  return name === 'Deno 2' ? [embedded, fetching, ioredis6] : [embedded, ioredis6, fetching]
}

/*
 * Places run side by side, but no more than three that are busy all the time, and their clients in turn: more at once
 * would delay claims that wait for an expiry.
 */
const groups = soak ? [places.slice(0, 3), places.slice(3)] : [places]
const inTurn = { concurrent: false, timeout: 120_000 }

const page = fileURLToPath(new URL('../../docs/runtimes.md', import.meta.url))
/** The last results of each client at each place. */
const figures = fileURLToPath(new URL('conformance/figures.jsonl', import.meta.url))
const renew = 'To renew it: LEASEHOLD_SOAK=1 pnpm exec vitest run test/runtimes/conformance.test.ts -u'

async function run(place: Place, client: Client, signal: AbortSignal): Promise<readonly ClaimResult[]> {
  await using servers = client.alone ? undefined : await startServers()
  return await place.run(client, servers, signal)
}

const failed = (claims: readonly ClaimResult[]): readonly ClaimResult[] =>
  claims.filter(({ state }) => state === 'failed')

const seen: Figures[] = []

describe.each(groups.map((beside) => ({ beside })))('side by side,', ({ beside }) => {
  describe.concurrent.each(beside)('on $name,', (place) => {
    const missing = place.exists ? undefined : `There is no ${place.name} for ${process.platform} on ${process.arch}`

    for (const client of clientsTriedOn(place)) {
      test(`each claim holds with ${client.name}, or is skipped for a reason`, inTurn, async (context) => {
        const whyNot = missing ?? client.notOn?.[place.name]
        if (whyNot !== undefined) return context.skip(whyNot)
        const claims = await run(place, client, context.signal)
        expect(failed(claims)).toEqual([])
        seen.push(figuresOf(place.name, client.name, claims))
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
})

test('the page about runtimes says what was seen', async () => {
  const before = fromJsonLines(readFileSync(figures, 'utf8'))
  const of = (all: readonly Figures[], place: string, client: string): Figures | undefined =>
    all.find((each) => each.place === place && each.client === client)
  const now = places.flatMap((place) =>
    clients.flatMap(({ name }) => of(seen, place.name, name) ?? of(before, place.name, name) ?? []),
  )
  console.log(tables(now.filter((each) => seen.includes(each))))
  for (const { place, client, skipped } of soak ? [] : seen) {
    // A soak determines the figures for which the page has a dash.
    const said = of(before, place, client)?.skipped ?? skipped
    expect(said, `${client} on ${place}. ${renew}`).toEqual(skipped)
  }
  // Only a soak compares how many there are: whoever adds a claim does not have to try it everywhere at once.
  if (!soak) return
  await expect(toJsonLines(now), renew).toMatchFileSnapshot(figures)
  await expect(withTables(readFileSync(page, 'utf8'), tables(now)), renew).toMatchFileSnapshot(page)
})
