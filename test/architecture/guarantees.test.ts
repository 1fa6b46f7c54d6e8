import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The rows of the table in the section "Several servers" of a page: the first cell and the last. */
function rowsIn(page: string): readonly (readonly [claim: string, last: string])[] {
  const [, section = ''] = readFileSync(join(root, page), 'utf8').split('\n## Several servers\n')
  const [table = ''] = section.split('\n## ')
  return Array.from(table.matchAll(/^\| (?!what holds)([^|]+) \|.*?([^|]+) \|$/gm), ([, claim = '', last = '']) => [
    claim,
    last,
  ])
}
const shownBy = rowsIn('docs/testing.md')

const files = globSync(['test/topologies/*.test.ts', 'packages/ioredis/src/wait-for-replicas.test.ts'], { cwd: root })
const titles = files
  .flatMap((file) => Array.from(readFileSync(join(root, file), 'utf8').matchAll(/'((?:[^'\\\n]|\\.){15,})'/g)))
  .map(([, title = '']) => title)

test('every row of the table about several servers names tests that there are', () => {
  expect(shownBy.length).toBeGreaterThan(10)
  expect(shownBy.map(([claim]) => claim)).toEqual(rowsIn('docs/guarantees.md').map(([claim]) => claim))
  for (const [, cell] of shownBy) {
    const names = Array.from(cell.matchAll(/\*([^*]+)\*/g), ([, name = '']) => name)
    const paths = Array.from(cell.matchAll(/`((?:test|packages)\/[^`]+)`/g), ([, path]) => `${path}.test.ts`)
    expect(names.length + paths.length, cell).toBeGreaterThan(0)
    expect(names.filter((name) => !titles.some((title) => title.includes(name)))).toEqual([])
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  }
})
