import type { Config } from 'vega-lite'
import type { Role } from '../contestants/contestant.ts'

/** Colors that are readable on GitHub's page of that name. The background is transparent. */
export interface Theme {
  readonly name: 'light' | 'dark'
  readonly text: string
  readonly faint: string
  readonly roles: Readonly<Record<Role, string>>
}

export const themes: readonly Theme[] = [
  { name: 'light', text: '#1f2328', faint: '#d1d9e0', roles: { ours: '#0969da', other: '#9198a1', floor: '#bf8700' } },
  { name: 'dark', text: '#f0f6fc', faint: '#3d444d', roles: { ours: '#4493f8', other: '#7d8590', floor: '#d29922' } },
]

/** The roles as a chart names them, in the order of their colors. */
export const roleNames = { ours: 'Leasehold', other: 'other libraries', floor: 'floors' } as const

export function configOf({ text, faint, roles }: Theme): Config {
  const label = { labelColor: text, titleColor: text }
  return {
    background: 'transparent',
    font: 'system-ui, sans-serif',
    axis: {
      ...label,
      gridColor: faint,
      domainColor: faint,
      tickColor: faint,
      titleFontWeight: 'normal',
      labelLimit: 240,
    },
    header: { ...label, labelFontWeight: 'bold' },
    legend: { ...label, orient: 'bottom', title: null },
    text: { color: text, fontSize: 10 },
    range: { category: [roles.ours, roles.other, roles.floor] },
    view: { stroke: null },
  }
}
