import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const files = globSync(['packages/*/*.ts', 'packages/*/src/**/*.test.ts', 'test/**/*.ts', 'examples/**/*.ts'], {
  cwd: root,
  exclude: ['**/node_modules', '**/.types'],
})

/**
 * Whether the source starts processes with an environment that lacks the mark by which `end-with-run.ts` finds them.
 */
const losesTheMark = (source: string): boolean =>
  /^import (?!type).* from 'node:child_process'/m.test(source) &&
  /\benv(?::| =) \{/.test(source) &&
  !/\.\.\.(?:\w+ \} = )?process\.env\b|\bLEASEHOLD_TEST_RUN\b/.test(source)

test('whoever starts a process with an environment of its own hands on the mark of the run', () => {
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter((file) => losesTheMark(readFileSync(join(root, file), 'utf8')))).toEqual([])
})

test.each([
  ['nothing', `{ PATH: process.env['PATH'] }`, true],
  ['the mark', `{ LEASEHOLD_TEST_RUN: process.env['LEASEHOLD_TEST_RUN'] }`, false],
  ['all', '{ ...process.env }', false],
])('the check tells who hands on %s', (_, env, loses) => {
  expect(losesTheMark(`import { spawn } from 'node:child_process'\nspawn('sh', [], { env: ${env} })`)).toBe(loses)
})
