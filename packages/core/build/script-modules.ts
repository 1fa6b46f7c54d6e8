import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { LuaScriptError, parseLuaScript, renderScriptModule, type ShortNames } from './lua-script.ts'

export interface Drift {
  /** The module, relative to the source folder. */
  readonly module: string
  readonly problem: 'missing' | 'differs' | 'orphaned'
}

/**
 * The modules to generate from the Lua scripts under `src`: path relative to `src` → content.
 *
 * A script may open with `-- @include <name>.part.lua`, at the end of its header: the text of that file beside it takes the place of
 * the line.
 *
 * @throws LuaScriptError naming the script.
 */
export function scriptModules(src: string): ReadonlyMap<string, string> {
  /** The short names of each folder, shared by its scripts because they land in the same bundle. */
  const short = new Map<string, ShortNames>()
  return new Map(
    globSync('**/*.lua', { cwd: src })
      .filter((script) => !script.endsWith(partEnding))
      .sort()
      .map((script) => {
        const name = basename(script, '.lua')
        const folder = join(dirname(script), 'generated')
        const names = short.get(folder) ?? new Map()
        short.set(folder, names)
        const typeImport = relative(folder, 'redis/scripts/script.ts').replace(/^(?!\.)/, './')
        try {
          const parsed = parseLuaScript(sourceOf(join(src, script)), names)
          return [join(folder, `${name}.ts`), renderScriptModule(name, parsed, typeImport)]
        } catch (error) {
          if (error instanceof LuaScriptError) throw new LuaScriptError(`${script} ${error.message}`, { cause: error })
          throw error
        }
      }),
  )
}

/** What ends the name of a file that is a part of scripts and none by itself. */
const partEnding = '.part.lua'

/** A script's source, with the part that its header includes between the header and its code. */
function sourceOf(path: string): string {
  const source = readFileSync(path, 'utf8')
  return source.replace(/^-- @include (\S+)\n/m, (_, part: string) => {
    if (!part.endsWith(partEnding)) throw new LuaScriptError(`includes ${part}, which is no part`)
    return readFileSync(join(dirname(path), part), 'utf8')
  })
}

/** How the committed modules under `src` differ from those to generate. */
export function findDrift(src: string, modules: ReadonlyMap<string, string>): readonly Drift[] {
  const present = globSync('**/generated/*.ts', { cwd: src })
  const drifts: Drift[] = []
  for (const [module, content] of modules) {
    if (!present.includes(module)) drifts.push({ module, problem: 'missing' })
    else if (readFileSync(join(src, module), 'utf8') !== content) drifts.push({ module, problem: 'differs' })
  }
  for (const module of present) if (!modules.has(module)) drifts.push({ module, problem: 'orphaned' })
  return drifts
}

/** Writes and removes modules until the drift is gone. */
export function repairDrift(src: string, modules: ReadonlyMap<string, string>, drifts: readonly Drift[]): void {
  for (const { module } of drifts) {
    const path = join(src, module)
    const content = modules.get(module)
    if (content === undefined) {
      rmSync(path)
    } else {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    }
  }
}
