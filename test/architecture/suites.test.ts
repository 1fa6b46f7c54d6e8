import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, matchesGlob } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { all, listed, soakOnly, workerd } from '../suites.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const matches = (patterns: readonly string[], file: string): boolean =>
  patterns.some((pattern) => matchesGlob(file, pattern))

/** The suites that list a file; a unit test is in none of them. */
const suitesOf = (file: string): readonly string[] => {
  const suites = Object.entries(listed).flatMap(([name, patterns]) => (matches(patterns, file) ? name : []))
  for (const folder of workerd) if (file.startsWith(`${folder}/`)) suites.push(basename(folder))
  return suites.length > 0 ? suites : ['unit']
}

// Including new files that are not yet committed.
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.test.ts'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
const tests = files.filter((file) => !matches(soakOnly, file))

test('every test file belongs to exactly one suite', () => {
  expect(tests.length).toBeGreaterThan(100)
  expect(tests.filter((file) => suitesOf(file).length !== 1)).toEqual([])
  expect(tests.filter((file) => !matches(all, file))).toEqual([])
})

test('every line of the lists has a test', () => {
  const lines = Object.values(listed).flat()
  expect(lines.filter((line) => !tests.some((file) => matchesGlob(file, line)))).toEqual([])
})

test('each suite has a script, and all of them together are what npm test runs', () => {
  const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { scripts: Record<string, string> }
  const run = ['unit', 'servers', 'edge', 'runtimes'].map((name) => scripts[`test:${name}`] ?? '')
  const projects = run.flatMap((script) => Array.from(script.matchAll(/--project (\w+)/g), ([, name]) => name))
  expect(projects.toSorted()).toEqual(
    ['unit', ...workerd.map((folder) => basename(folder)), ...Object.keys(listed)].toSorted(),
  )
  expect(scripts['test:run']).toBe('vitest run')
})
