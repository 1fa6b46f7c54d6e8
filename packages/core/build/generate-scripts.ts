/**
 * Writes one typed module for each Lua script of core, into the folder `generated` beside the script. With `--check` it
 * writes nothing, and fails if a committed module differs from its script.
 */

import { fileURLToPath } from 'node:url'
import { LuaScriptError } from './lua-script.ts'
import { findDrift, repairDrift, scriptModules } from './script-modules.ts'

const src = fileURLToPath(new URL('../src', import.meta.url))
const check = process.argv.includes('--check')

try {
  const modules = scriptModules(src)
  const drifts = findDrift(src, modules)
  for (const { module, problem } of drifts) console.log(`${problem}: packages/core/src/${module}`)
  if (check && drifts.length > 0) {
    console.error('Generated modules differ from their Lua scripts; run `pnpm generate` and commit the result.')
    process.exitCode = 1
  } else {
    repairDrift(src, modules, drifts)
    console.log(`${modules.size} Lua scripts, ${drifts.length} modules ${check ? 'differ' : 'written or removed'}`)
  }
} catch (error) {
  if (!(error instanceof LuaScriptError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
