import type { Measured } from '../rounds.ts'
import { alternatingTable } from '../scenarios/alternating.ts'
import { burstTable } from '../scenarios/burst.ts'
import { firstCounts, firstLocksTable } from '../scenarios/first-locks.ts'
import { growthTables } from '../scenarios/growth.ts'
import { hotKeyTable } from '../scenarios/hot-key.ts'
import { memoryTables } from '../scenarios/memory.ts'
import { renewalTable } from '../scenarios/renewal.ts'
import { uncontendedTable } from '../scenarios/uncontended.ts'
import { waitingTable } from '../scenarios/waiting.ts'
import { capacityRows, priceRows } from './capacity.ts'
import { medianOf } from './median-of.ts'
import { best, ratioOf, rivalsAmong } from './ratios.ts'
import { recordedAs } from './recording.ts'

export interface PageTable {
  /** The scenario whose figures the table shows; a table without one is calculated. */
  readonly scenario?: string
  /** Those of the scenario's tables that it takes its figures from; by default all of them. */
  readonly tables?: readonly string[]
  make(measured: readonly Measured[]): string
}

/** A figure of a table of the bench. */
interface Cell {
  readonly title: string
  readonly table: string
  readonly figure: string
  readonly digits?: number
  /** The row that the figure is divided by; without one it is shown as it is, which suits counts and bytes. */
  readonly over?: string
}

type UncontendedClient = Parameters<typeof uncontendedTable>[0]

const uncontendedCells = (client: UncontendedClient, over: string): readonly Cell[] => [
  { title: 'p50, one in flight', table: uncontendedTable(client, 1), figure: 'p50', over },
  { title: 'client CPU, one', table: uncontendedTable(client, 1), figure: 'cpu', over },
  { title: 'pairs/s, 16 in flight', table: uncontendedTable(client, 16), figure: 'rate', over },
  { title: 'pairs/s, 256 in flight', table: uncontendedTable(client, 256), figure: 'rate', over },
  { title: 'client CPU, 256', table: uncontendedTable(client, 256), figure: 'cpu', over },
  ...(client === 'memory'
    ? []
    : [
        { title: 'Redis CPU, 256', table: uncontendedTable(client, 256), figure: 'redisCpu', over },
        { title: 'commands a pair, one', table: uncontendedTable(client, 1), figure: 'commands', digits: 1 },
        { title: 'commands a pair, 256', table: uncontendedTable(client, 256), figure: 'commands', digits: 2 },
      ]),
  { title: 'kB allocated, one', table: uncontendedTable(client, 1), figure: 'allocated', digits: 1 },
  { title: 'kB allocated, 16', table: uncontendedTable(client, 16), figure: 'allocated', digits: 1 },
]

/** Clients may have been measured in runs of their own. */
const uncontended = (client: UncontendedClient, over: string, scenario = 'uncontended'): PageTable => ({
  scenario,
  tables: [1, 16, 256].map((inFlight) => uncontendedTable(client, inFlight)),
  make: (measured) => byRow(measured, uncontendedCells(client, over)),
})

/** Every table of `docs/performance.md`, by name. */
export const pageTables: Readonly<Record<string, PageTable>> = {
  'uncontended-ioredis': uncontended('ioredis', 'raw-ioredis'),
  'uncontended-ioredis-on-node-20': uncontended('ioredis', 'raw-ioredis', recordedAs('uncontended', '20')),
  'uncontended-node-redis': uncontended('node-redis', 'raw-node-redis'),
  'uncontended-http': uncontended('http', 'raw-fetch'),
  'uncontended-memory': uncontended('memory', 'raw-map'),
  alternating: {
    scenario: 'alternating',
    make: (measured) =>
      byRow(
        measured,
        (['p50', 'cpu'] as const).flatMap((figure): Cell[] =>
          ['raw-ioredis', 'scripts-ioredis'].map((over) => ({
            title: `${figure === 'p50' ? figure : 'client CPU'} ÷ ${over}`,
            table: alternatingTable,
            figure,
            over,
          })),
        ),
      ),
  },
  handoff: { scenario: 'handoff', make: handOffs },
  hotkey: {
    scenario: 'hotkey',
    make: (measured) =>
      byRow(measured, [
        ...[1, 2, 4].map((processes) => ({
          title: `acquired/s, ${hotKeyTable(processes)}`,
          table: hotKeyTable(processes),
          figure: 'rate',
          over: 'leasehold',
        })),
        { title: 'commands each, 1', table: hotKeyTable(1), figure: 'commands' },
        { title: 'commands each, 4', table: hotKeyTable(4), figure: 'commands' },
        { title: 'longest wait, 4', table: hotKeyTable(4), figure: 'longest', over: 'leasehold' },
        { title: 'never served, 1', table: hotKeyTable(1), figure: 'starved', digits: 0 },
        { title: 'never served, 4', table: hotKeyTable(4), figure: 'starved', digits: 0 },
      ]),
  },
  waiting: {
    scenario: 'waiting',
    make: (measured) =>
      byRow(
        measured,
        [1, 2].flatMap((processes): Cell[] => {
          const table = waitingTable(processes)
          const where = processes === 1 ? 'own process' : 'another'
          return [
            { title: `${where}: commands while held`, table, figure: 'held', digits: 0 },
            { title: 'in all', table, figure: 'all', digits: 0 },
          ]
        }),
      ),
  },
  renewal: {
    scenario: 'renewal',
    make: (measured) =>
      byRow(
        measured,
        [1_000, 10_000].flatMap((leases): Cell[] => {
          const table = renewalTable(leases)
          return [
            { title: `${leases.toLocaleString('en')}: commands / 2 s`, table, figure: 'commands', digits: 0 },
            { title: 'Redis CPU', table, figure: 'redisCpu', over: 'leasehold' },
            { title: 'client CPU', table, figure: 'cpu', over: 'leasehold' },
            { title: 'loop delay p99, ms', table, figure: 'delay', digits: 1 },
          ]
        }),
      ),
  },
  memory: {
    scenario: 'memory',
    make: (measured) =>
      byRow(
        measured,
        Object.values(memoryTables).flatMap((table): Cell[] => [
          { title: table, table, figure: 'each', digits: 0 },
          { title: 'left', table, figure: 'left', digits: 0 },
        ]),
      ),
  },
  growth: {
    scenario: 'growth',
    make: (measured) =>
      byRow(
        measured,
        Object.values(growthTables).map((table) => ({ title: table, table, figure: 'exponent', digits: 2 })),
      ),
  },
  first: {
    scenario: 'first',
    make: (measured) =>
      byRow(
        measured,
        firstCounts.flatMap((count): Cell[] => {
          const title = count === 1 ? 'the first: time' : `the first ${count.toLocaleString('en')}: time`
          return [
            { title, table: firstLocksTable, figure: `ms${count}`, over: 'raw-ioredis' },
            { title: 'client CPU', table: firstLocksTable, figure: `cpu${count}`, over: 'raw-ioredis' },
          ]
        }),
      ),
  },
  burst: {
    scenario: 'burst',
    make: (measured) =>
      byRow(measured, [
        { title: 'granted', table: burstTable(10_000), figure: 'granted', digits: 0 },
        { title: 'time, ÷ raw', table: burstTable(10_000), figure: 'ms', over: 'raw-ioredis' },
      ]),
  },
  capacity: {
    make: () => markdown([['', 'commands a second, all processes', 'heap of each process'], ...capacityRows]),
  },
  price: { make: () => markdown([['a million locks', 'commands', 'price'], ...priceRows]) },
}

/** A line for each contestant. */
function byRow(measured: readonly Measured[], cells: readonly Cell[]): string {
  const tables = new Set(cells.map(({ table }) => table))
  const rows = [...new Set(measured.filter(({ table }) => tables.has(table)).map(({ row }) => row))]
  const isOurs = (name: string): boolean => measured.some(({ row, role }) => row === name && role === 'ours')
  return markdown([
    ['', ...cells.map(({ title }) => title)],
    ...rows.map((row) => [isOurs(row) ? `**${row}**` : row, ...cells.map((cell) => shownIn(measured, row, cell))]),
  ])
}

function shownIn(measured: readonly Measured[], row: string, { table, figure, digits = 2, over }: Cell): string {
  const of = measured.filter((sample) => sample.table === table)
  if (over !== undefined) return ratio(ratioOf(of, figure, row, over))
  const own = of.filter((sample) => sample.row === row)
  const value = medianOf(own, figure)
  return Number.isNaN(value) ? '' : withCommas(value, digits)
}

/** A line for each setting: the ratios of Leasehold's figures to the floor's and to those of the best other. */
function handOffs(measured: readonly Measured[]): string {
  const lines = [...Map.groupBy(measured, ({ table }) => table)].map(([table, of]) => {
    const own = of.filter(({ row }) => row === 'leasehold')
    const others = [...new Set(of.filter(({ role }) => role === 'other').map(({ row }) => row))]
    const rivals = rivalsAmong(others, of)
    const overBest = (figure: string): string => {
      const rival = best(rivals, of, { name: figure, better: 'less' })
      return rival === undefined ? '' : `${ratio(ratioOf(of, figure, 'leasehold', rival))} (${rival})`
    }
    return [
      table,
      ratio(ratioOf(of, 'p50', 'leasehold', 'floor: PUBLISH')),
      overBest('p50'),
      withCommas(medianOf(own, 'commands'), 2),
      overBest('commands'),
      withCommas(medianOf(own, 'drainOfIdeal'), 2),
      overBest('drain'),
    ]
  })
  const titles = ['p50 ÷ `PUBLISH`', '÷ best other', 'commands each', '÷ best other', 'drain ÷ ideal', '÷ best other']
  return markdown([['', ...titles], ...lines])
}

const ratio = (value: number): string =>
  Number.isNaN(value) ? '' : value >= 100 ? value.toFixed(0) : value.toPrecision(2)

const withCommas = (value: number, digits: number): string =>
  // What rounds to zero has no sign.
  value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    signDisplay: 'negative',
  })

const markdown = ([head = [], ...rows]: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
