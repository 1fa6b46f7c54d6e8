import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findDrift, repairDrift, scriptModules } from './script-modules.ts'

const lua = '-- Reads a lock.\n-- @key lock  the lock\n-- @returns its value\nlocal lock = KEYS[1]\nreturn lock\n'
let src: string

beforeEach(() => {
  src = mkdtempSync(join(tmpdir(), 'leasehold-scripts-'))
  write('redis/scripts/check.lua', lua)
  write('queue/enter.lua', lua)
})
afterEach(() => rmSync(src, { recursive: true }))

function write(path: string, content: string): void {
  mkdirSync(dirname(join(src, path)), { recursive: true })
  writeFileSync(join(src, path), content)
}

function repair(): void {
  const modules = scriptModules(src)
  repairDrift(src, modules, findDrift(src, modules))
}

test('each script has one module in the folder "generated" beside it, which finds the type Script', () => {
  repair()
  expect(findDrift(src, scriptModules(src))).toEqual([])
  expect(readFileSync(join(src, 'redis/scripts/generated/check.ts'), 'utf8')).toContain(`from '../script.ts'`)
  expect(readFileSync(join(src, 'queue/generated/enter.ts'), 'utf8')).toContain(`from '../../redis/scripts/script.ts'`)
})

test('a module that is missing, edited, older than its script or without a script is drift', () => {
  expect(findDrift(src, scriptModules(src)).map(({ problem }) => problem)).toEqual(['missing', 'missing'])
  repair()
  write('redis/scripts/check.lua', lua.replace('return lock', 'return lock .. 1'))
  write('queue/generated/enter.ts', `${readFileSync(join(src, 'queue/generated/enter.ts'), 'utf8')}\n`)
  write('queue/generated/leave.ts', 'export const leave = 1\n')
  expect(findDrift(src, scriptModules(src))).toEqual([
    { module: 'queue/generated/enter.ts', problem: 'differs' },
    { module: 'redis/scripts/generated/check.ts', problem: 'differs' },
    { module: 'queue/generated/leave.ts', problem: 'orphaned' },
  ])
})

test('repairing removes what has no script', () => {
  write('queue/generated/leave.ts', 'export const leave = 1\n')
  repair()
  expect(readdirSync(join(src, 'queue/generated'))).toEqual(['enter.ts'])
})

test('what scripts with the same part begin with is one module, and each of them is that and its rest', async () => {
  write('queue/turns.part.lua', 'local function turn(lock) return lock .. "!" end\n')
  const including = lua.replace('local lock', '-- @include turns.part.lua\nlocal lock')
  write('queue/enter.lua', including.replace('return lock', 'return turn(lock)'))
  write('queue/leave.lua', including.replace('return lock', 'return {turn(lock)}'))
  repair()
  expect(readdirSync(join(src, 'queue/generated'))).toEqual(['enter.ts', 'leave.ts', 'turns.part.ts'])
  const begin = 'local function a(b)return b.."!"end;local b=KEYS[1]return'
  expect(readFileSync(join(src, 'queue/generated/turns.part.ts'), 'utf8')).toContain(`turnsPart: string = \`${begin}`)
  for (const [name, end] of [
    ['enter', ' a(b)'],
    ['leave', '{a(b)}'],
  ] as const) {
    const { [name]: script } = await import(join(src, `queue/generated/${name}.ts`))
    expect(script.text).toBe(begin + end)
    expect(script.sha1).toBe(createHash('sha1').update(script.text).digest('hex'))
  }
})

test('a script that cannot be read is named', () => {
  write('queue/leave.lua', 'return 1\n')
  expect(() => scriptModules(src)).toThrow('queue/leave.lua must open with')
})
