import type { TopLevelSpec } from 'vega-lite'
import type { Measured } from '../rounds.ts'
import { growthSizes, growthTables } from '../scenarios/growth.ts'
import { tableFor } from '../scenarios/hand-off-sizes.ts'
import { hotKeyTable } from '../scenarios/hot-key.ts'
import { renewalTable } from '../scenarios/renewal.ts'
import { uncontendedTable } from '../scenarios/uncontended.ts'
import { type Bar, bars } from './bars.ts'
import { lines } from './lines.ts'
import { medianOf } from './median-of.ts'
import { ratioOf } from './ratios.ts'
import { measuredIn, type Recording } from './recording.ts'

/** The charts for which a recording has the figures, by name. */
export function charts(recording: Recording): ReadonlyMap<string, TopLevelSpec> {
  const all = Object.entries(makers).flatMap(([name, make]) => {
    const [scenario = name] = name.split('-')
    const spec = make(measuredIn(recording, scenario))
    return spec === undefined ? [] : [[name, spec] as const]
  })
  return new Map(all)
}

const makers: Readonly<Record<string, (measured: readonly Measured[]) => TopLevelSpec | undefined>> = {
  'uncontended-ioredis': (measured) =>
    bars(uncontendedBars(measured, 'ioredis', 'raw-ioredis'), {
      title: 'pairs/s ÷ raw',
      description: 'Acquire and release of free locks through ioredis: pairs a second, relative to the raw client',
    }),
  'uncontended-http': (measured) =>
    bars(uncontendedBars(measured, 'http', 'raw-fetch'), {
      title: 'pairs/s ÷ raw fetch',
      description: 'Acquire and release of free locks over HTTP: pairs a second, relative to a raw fetch',
    }),
  handoff: (measured) =>
    bars(
      [1, 2, 8].flatMap((processes) =>
        barsOf(measured, handOffTable(100, processes), (of, row) => ratioOf(of, 'p50', row, 'floor: PUBLISH')),
      ),
      {
        title: 'p50 ÷ PUBLISH',
        description: 'From one holder to the next, 100 waiters: the median hand-off, relative to a PUBLISH',
        isLogarithmic: true,
      },
    ),
  hotkey: (measured) =>
    bars(
      [1, 2, 4].flatMap((processes) =>
        barsOf(measured, hotKeyTable(processes), (of, row) => ratioOf(of, 'rate', row, 'leasehold')),
      ),
      {
        title: 'acquired/s ÷ Leasehold',
        description: 'One key that 32 loops want: acquisitions a second, relative to Leasehold',
        isLogarithmic: true,
      },
    ),
  renewal: (measured) =>
    bars(
      [1_000, 10_000].flatMap((leases) => barsOf(measured, renewalTable(leases), median('commands'))),
      {
        title: 'commands / 2 s',
        description: 'Commands that it takes to renew 1,000 and 10,000 leases of 6 s, for each two seconds',
        isLogarithmic: true,
      },
    ),
  growth: (measured) =>
    lines(
      [growthTables.handOffCommands, growthTables.pairCpu].flatMap((table) =>
        rowsOf(measured, table).flatMap(({ row, role, of }) =>
          growthSizes.map((size) => {
            const value = medianOf(of, `at${size}`) / medianOf(of, `at${growthSizes[0]}`)
            return { panel: table, row, role, size, value }
          }),
        ),
      ),
      {
        description: 'What a hand-off and a pair cost as their number grows, relative to the cost with ten',
        x: 'how many',
        y: 'cost of one ÷ with 10',
      },
    ),
}

const uncontendedBars = (measured: readonly Measured[], client: 'ioredis' | 'http', floor: string): readonly Bar[] =>
  [1, 16, 256].flatMap((inFlight) =>
    barsOf(measured, uncontendedTable(client, inFlight), (of, row) => ratioOf(of, 'rate', row, floor)),
  )

const median =
  (figure: string) =>
  (of: readonly Measured[], row: string): number =>
    medianOf(
      of.filter((sample) => sample.row === row),
      figure,
    )

const barsOf = (
  measured: readonly Measured[],
  table: string,
  value: (of: readonly Measured[], row: string) => number,
): readonly Bar[] => {
  const inTable = measured.filter((sample) => sample.table === table)
  return rowsOf(measured, table).map(({ row, role }) => ({
    panel: panelOf(table),
    row,
    role,
    value: value(inTable, row),
  }))
}

const handOffTable = (waiters: number, processes: number): string => tableFor(waiters, processes, { hold: undefined })

/** Without the client, which the chart's title names. */
const panelOf = (table: string): string => table.replace(/^\w+, /, '')

function rowsOf(measured: readonly Measured[], table: string) {
  const rows = Map.groupBy(
    measured.filter((sample) => sample.table === table),
    ({ row }) => row,
  )
  return [...rows].map(([row, of]) => ({ row, of, role: of[0]?.role ?? 'other' }))
}
