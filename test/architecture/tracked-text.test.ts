import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What only makes sense on one machine or in one network. */
const local: Readonly<Record<string, RegExp>> = {
  'a home or work folder': /(?<![\w.:*}/-])\/(?:root|home|Users|work)\/[\w.-]/,
  'a package registry': /\/\/registry\.|\bregistry *= *http|_auth[T]oken|^ +tarball: http/m,
}

const problemsIn = (text: string): readonly string[] =>
  Object.keys(local).filter((problem) => local[problem]?.test(text) === true)

/** What git tracks or would add: a mistake is also found before it is committed. */
const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString()
  .split('\0')
  .filter((file) => file !== '')

test('no file names a folder of one machine or a package registry', () => {
  const found = files.flatMap((file) => problemsIn(read(file)).map((problem) => `${file} names ${problem}`))
  expect(found).toEqual([])
})

test.each([
  ['a home or work folder', `"file": "${['', 'root', 'x.ts'].join('/')}"`],
  ['a package registry', `"resolved": "https://${['registry', 'example', 'org'].join('.')}/x"`],
])('the check would find %s', (problem, text) => {
  expect(problemsIn(text)).toEqual([problem])
})

/** What profilers, editors and servers leave in the folder they run in. */
const leftBehind = /\.(?:log|(?:cpu|heap)profile|heapsnapshot|rdb|aof|orig|rej|swp)$|(?:^|\/)perf\.data/

test('no file is what a program has left behind', () => {
  expect(files.filter((file) => leftBehind.test(file))).toEqual([])
})

test.each(['isolate-0x402cd000-28749-v8.log', 'CPU.1.cpuprofile', 'test/dump.rdb', 'perf.data.old'])(
  'the check would find %s',
  (file) => {
    expect(file).toMatch(leftBehind)
  },
)

/** A file that was deleted but is still in git's index has no text. */
function read(file: string): string {
  try {
    return readFileSync(join(root, file), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
