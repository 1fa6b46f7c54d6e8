import type { TopLevelSpec } from 'vega-lite'
import type { Role } from '../contestants/contestant.ts'
import { roleNames } from './theme.ts'

export interface Bar {
  readonly panel: string
  readonly row: string
  readonly role: Role
  readonly value: number
}

interface BarsOptions {
  /** What the chart shows, for readers who cannot see it. */
  readonly description: string
  readonly title: string
  /** For figures that are orders of magnitude apart. */
  readonly isLogarithmic?: boolean
}

/** Bars in panels side by side, a row for each contestant, in the order of the bars; undefined without bars. */
export function bars(
  all: readonly Bar[],
  { description, title, isLogarithmic = false }: BarsOptions,
): TopLevelSpec | undefined {
  const values = all.filter(({ value }) => Number.isFinite(value) && (!isLogarithmic || value > 0))
  if (values.length === 0) return undefined
  const order = (take: (bar: Bar) => string): string[] => [...new Set(values.map(take))]
  const scale = isLogarithmic ? { type: 'log' as const } : { zero: true }
  return {
    description,
    data: { values: values.map(({ role, ...bar }) => ({ ...bar, who: roleNames[role], shown: shown(bar.value) })) },
    facet: { column: { field: 'panel', type: 'nominal', sort: order(({ panel }) => panel), title: null } },
    spec: {
      width: 170,
      height: { step: 18 },
      encoding: {
        x: { field: 'value', type: 'quantitative', title, scale, axis: { tickCount: 4, grid: !isLogarithmic } },
        y: { field: 'row', type: 'nominal', sort: order(({ row }) => row), title: null },
      },
      layer: [
        {
          mark: isLogarithmic ? { type: 'point', filled: true, size: 60 } : { type: 'bar', height: 12 },
          encoding: { color: { field: 'who', type: 'nominal', sort: Object.values(roleNames), scale: ranked } },
        },
        {
          mark: { type: 'text', align: 'left', dx: isLogarithmic ? 7 : 3, baseline: 'middle' },
          encoding: { text: { field: 'shown', type: 'nominal' } },
        },
      ],
    },
  }
}

/** Each role keeps its color, whether or not all roles are present. */
const ranked: { domain: string[] } = { domain: Object.values(roleNames) }

const shown = (value: number): string =>
  value >= 1_000 ? value.toFixed(0) : String(Number(value.toPrecision(value >= 100 ? 3 : 2)))
