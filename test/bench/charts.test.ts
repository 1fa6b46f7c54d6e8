import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { filledPage } from './report/page.ts'
import { pageTables } from './report/page-tables.ts'
import type { Recording } from './report/recording.ts'
import { drawn } from './report/redraw.ts'

/*
 * The figures, charts and tables of `docs/performance.md` belong together: `npm run bench -- --draw <file>` generates
 * them.
 */

const folder = new URL('../../docs/charts/', import.meta.url)
const textOf = (name: string): string => readFileSync(new URL(name, folder), 'utf8')
const recording: Recording = JSON.parse(textOf('measured.json'))
const page = textOf('../performance.md')
const committed = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.svg'))

test('the charts beside the record are what it draws, letter by letter', async () => {
  const charts = await drawn(recording)
  expect([...charts.keys()].sort()).toEqual(committed.sort())
  for (const [name, svg] of charts) expect(svg === textOf(name), name).toBe(true)
})

test('the tables of the page are what the record says', () => {
  expect(filledPage(page, recording)).toBe(page)
})

test('the page shows each chart, for light and for dark', () => {
  const shown = [...page.matchAll(/charts\/([\w.-]+\.svg)/g)].map(([, name]) => name)
  expect(shown.sort()).toEqual(committed.sort())
})

test('the page has no table that nobody has measured', () => {
  expect(page).not.toMatch(/-->\n<!-- end -->/)
})

test('each table that compares contestants has ours', () => {
  // Those of the hand-off are ratios of ours.
  const compares = (name: string): boolean => name !== 'handoff' && pageTables[name]?.scenario !== undefined
  const tables = [...page.matchAll(/<!-- table: ([\w-]+) -->\n(.*?)<!-- end -->/gs)]
  const without = tables.filter(([, name = '', rows = '']) => compares(name) && !rows.includes('| **leasehold'))
  expect(without.map(([, name]) => name)).toEqual([])
})
