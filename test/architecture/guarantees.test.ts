import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/guarantees.md'), 'utf8')
const section = page.slice(page.indexOf('## Several servers'), page.indexOf('\n## Records'))
/** What the last column of each row names. */
const shownBy = Array.from(section.matchAll(/^\| (?!what|---).*\| ([^|]+) \|$/gm), ([, cell = '']) => cell)

const files = globSync(['test/topologies/*.test.ts', 'packages/ioredis/src/wait-for-replicas.test.ts'], { cwd: root })
const titles = files
  .flatMap((file) => Array.from(readFileSync(join(root, file), 'utf8').matchAll(/'((?:[^'\\\n]|\\.){15,})'/g)))
  .map(([, title = '']) => title)

test('every row of the table about several servers names tests that there are', () => {
  expect(shownBy.length).toBeGreaterThan(10)
  for (const cell of shownBy) {
    const names = Array.from(cell.matchAll(/\*([^*]+)\*/g), ([, name = '']) => name)
    const paths = Array.from(cell.matchAll(/`((?:test|packages)\/[^`]+)`/g), ([, path]) => `${path}.test.ts`)
    expect(names.length + paths.length, cell).toBeGreaterThan(0)
    expect(names.filter((name) => !titles.some((title) => title.includes(name)))).toEqual([])
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  }
})
