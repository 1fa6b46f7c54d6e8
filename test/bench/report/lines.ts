import type { TopLevelSpec } from 'vega-lite'
import type { Role } from '../contestants/contestant.ts'
import { roleNames } from './theme.ts'

export interface Point {
  readonly panel: string
  readonly row: string
  readonly role: Role
  readonly size: number
  readonly value: number
}

/** Lines over logarithmic axes, in panels side by side: a constant is level, proportional growth is a diagonal. */
export function lines(
  all: readonly Point[],
  { description, x, y }: { readonly description: string; readonly x: string; readonly y: string },
): TopLevelSpec | undefined {
  const values = all.filter(({ value }) => value > 0)
  if (values.length === 0) return undefined
  const panels = [...new Set(values.map(({ panel }) => panel))]
  return {
    description,
    data: { values: values.map(({ role, ...point }) => ({ ...point, who: roleNames[role] })) },
    facet: { column: { field: 'panel', type: 'nominal', sort: panels, title: null } },
    spec: {
      width: 250,
      height: 150,
      encoding: {
        x: { field: 'size', type: 'quantitative', title: x, scale: { type: 'log' }, axis: { values: sizes(values) } },
        y: { field: 'value', type: 'quantitative', title: y, scale: { type: 'log' }, axis: { tickCount: 4 } },
        detail: { field: 'row', type: 'nominal' },
        color: { field: 'who', type: 'nominal', scale: { domain: Object.values(roleNames).slice(0, 2) } },
      },
      layer: [
        { mark: { type: 'line', point: true } },
        {
          transform: [{ filter: `datum.size === ${Math.max(...values.map(({ size }) => size))}` }],
          mark: { type: 'text', align: 'right', dy: -8 },
          encoding: { text: { field: 'row', type: 'nominal' } },
        },
      ],
    },
  }
}

const sizes = (points: readonly Point[]): number[] => [...new Set(points.map(({ size }) => size))]
