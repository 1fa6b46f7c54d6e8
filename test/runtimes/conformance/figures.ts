import type { ClaimResult } from './claim-runner.ts'

/** How many claims about a client hold in a place, and how many were skipped for each reason. */
export interface Figures {
  readonly place: string
  readonly client: string
  readonly passed: number
  readonly skipped: Readonly<Record<string, number>>
}

export function figuresOf(place: string, client: string, claims: readonly ClaimResult[]): Figures {
  const skipped: Record<string, number> = {}
  for (const { state, reason } of claims) {
    if (state === 'skipped') skipped[reason] = (skipped[reason] ?? 0) + 1
  }
  return { place, client, passed: claims.filter(({ state }) => state === 'passed').length, skipped }
}

/** In Markdown: a row for each client and a column for each place, and why claims were skipped. */
export function tables(figures: readonly Figures[]): string {
  const places = [...new Set(figures.map(({ place }) => place))]
  const clients = [...new Set(figures.map(({ client }) => client))]
  const cell = (client: string, place: string): string => {
    const found = figures.find((each) => each.client === client && each.place === place)
    return found ? `${found.passed} / ${sum(Object.values(found.skipped))}` : '–'
  }
  const rows = clients.map((client) => [client, ...places.map((place) => cell(client, place))])
  const alike = rows.every(([, ...cells]) => new Set(cells).size === 1)
    ? 'Every runtime is alike: no figure depends on it. What differs is what a store offers, and what can be seen of it.\n\n'
    : ''
  const why = markdown(['skipped', 'how many, with which'], skips(figures, clients))
  return `${alike}${markdown(['', ...places], rows)}\n\n${why}`
}

/** The meaning of the suite's reasons for a reader, by their beginnings. */
const meanings: Readonly<Record<string, string>> = {
  'inbox-count':
    'That a process which no longer hears its turns is passed over at once: over HTTP nobody knows how many servers are behind, so none can say who listens.',
  'subscriber-count':
    'That a release tells how many processes heard it: over HTTP nobody knows how many servers are behind.',
  'long-times': 'What becomes of a queue after minutes: with a real server they would have to pass.',
  'pass-on':
    'That a lock goes to the next call of the same process by one request: the store does not offer it, and a release and an acquire do the same.',
  'there is no connection to wait for':
    'What a client does before its connection is made: over HTTP there is none to wait for.',
  'wall-clock':
    'That fences rise though the clock of the server is set back: the clock of a Redis server is the machine’s.',
}

const meaning = (reason: string): string => meanings[reason.split(':')[0] as string] ?? reason

/** A row for each reason: how many claims, with which clients, and where, unless it is everywhere. */
function skips(figures: readonly Figures[], clients: readonly string[]): readonly (readonly string[])[] {
  const reasons = new Set(figures.flatMap(({ skipped }) => Object.keys(skipped)))
  return [...reasons].sort().map((reason) => {
    const byCount = new Map<string, string[]>()
    for (const client of clients) {
      const counts = figures
        .filter((each) => each.client === client)
        .map(({ place, skipped }) => ({ place, count: skipped[reason] ?? 0 }))
      const everywhere = new Set(counts.map(({ count }) => count)).size === 1
      const text = everywhere
        ? String(counts[0]?.count)
        : counts.map(({ place, count }) => `${count} on ${place}`).join(', ')
      byCount.set(text, [...(byCount.get(text) ?? []), client])
    }
    byCount.delete('0')
    return [meaning(reason), [...byCount].map(([text, names]) => `${text}: ${names.join(', ')}`).join('; ')]
  })
}

/** The page with its tables replaced by these. */
export const withTables = (page: string, seen: string): string =>
  page.replace(
    /(<!-- Written by the tests[^>]*-->\n).*(\n<!-- Until here -->)/s,
    (_, from, to) => `${from}\n${seen}\n${to}`,
  )

export const toJsonLines = (figures: readonly Figures[]): string =>
  figures.map((each) => `${JSON.stringify(each)}\n`).join('')

export const fromJsonLines = (text: string): readonly Figures[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Figures]))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

const markdown = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
