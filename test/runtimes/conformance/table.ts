import type { ClaimResult } from './claim-runner.ts'

/** What was seen of one client at one place. */
export interface Run {
  readonly place: string
  readonly client: string
  readonly claims: readonly ClaimResult[]
}

const count = ({ claims }: Run, state: ClaimResult['state']): number =>
  claims.filter((claim) => claim.state === state).length

/** Claims that held, and claims that were skipped. */
export const figures = (run: Run): string => `${count(run, 'passed')} / ${count(run, 'skipped')}`

export interface Names {
  readonly places: readonly string[]
  readonly clients: readonly string[]
}

/** What was seen, in Markdown. */
export const tables = (runs: readonly Run[], names: Names): string => `${tableOf(runs, names)}\n\n${skipsOf(runs)}`

/** The page with these tables in place of those it has. */
export const withTables = (page: string, seen: string): string =>
  page.replace(
    /(<!-- Written by the tests[^>]*-->\n).*(\n<!-- Until here -->)/s,
    (_, from, to) => `${from}\n${seen}\n${to}`,
  )

/** What the page says of a run. */
export function cellOf(page: string, { place, client }: Run, places: readonly string[]): string | undefined {
  const row = page.split('\n').find((line) => line.startsWith(`| ${client} |`))
  return row?.split(' | ')[1 + places.indexOf(place)]?.replace(/ \|$/, '')
}

/** A row for each client and a column for each place. */
function tableOf(runs: readonly Run[], { places, clients }: Names): string {
  const rows = clients.map((client) => [
    client,
    ...places.map((place) => {
      const run = runs.find((each) => each.client === client && each.place === place)
      return run ? figures(run) : '–'
    }),
  ])
  return markdown(['', ...places], rows)
}

/** Each reason for which claims were skipped, and how many were with which clients; where that is not everywhere, where. */
function skipsOf(runs: readonly Run[]): string {
  const reasons = new Map<string, Run[]>()
  for (const run of runs) {
    for (const reason of new Set(skipped(run))) reasons.set(reason, [...(reasons.get(reason) ?? []), run])
  }
  const rows = [...reasons].sort().map(([reason, where]) => {
    const clients = [...new Set(where.map(({ client }) => client))]
    const parts = clients.map((client) => {
      const all = runs.filter((run) => run.client === client)
      const counts = all.map((run) => skipped(run).filter((each) => each === reason).length)
      if (new Set(counts).size === 1) return { client, counts: String(counts[0]) }
      return { client, counts: all.map(({ place }, at) => `${counts[at]} on ${place}`).join(', ') }
    })
    const alike = [...new Set(parts.map((part) => part.counts))].map(
      (counts) =>
        `${counts}: ${parts
          .filter((part) => part.counts === counts)
          .map((part) => part.client)
          .join(', ')}`,
    )
    return [reason, alike.join('; ')]
  })
  return markdown(['skipped, because', 'claims, and clients'], rows)
}

const skipped = ({ claims }: Run): readonly string[] =>
  claims.flatMap(({ state, reason }) => (state === 'skipped' ? [reason] : []))

const markdown = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
