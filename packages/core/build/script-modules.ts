import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { LuaScriptError, parseLuaScript, renderPartModule, renderScriptModule, type ShortNames } from './lua-script.ts'

export interface Drift {
  /** The module, relative to the source folder. */
  readonly module: string
  readonly problem: 'missing' | 'differs' | 'orphaned'
}

/**
 * The modules to generate from the Lua scripts under `src`: path relative to `src` → content.
 *
 * A script's header may end with `-- @include <name>.part.lua`: the text of that file, in the same folder, replaces the
 * line. The text that all scripts with the same part begin with becomes a module of its own, so that a bundle has it
 * once.
 *
 * @throws LuaScriptError naming the script.
 */
export function scriptModules(src: string): ReadonlyMap<string, string> {
  /** The short names of each folder, shared by its scripts because they land in the same bundle. */
  const short = new Map<string, ShortNames>()
  const scripts = globSync('**/*.lua', { cwd: src })
    .filter((path) => !path.endsWith(partEnding))
    .sort()
    .map((path) => {
      const folder = join(dirname(path), 'generated')
      const names = short.get(folder) ?? new Map()
      short.set(folder, names)
      try {
        const { source, part } = readScript(join(src, path))
        return { name: basename(path, '.lua'), folder, part, script: parseLuaScript(source, names) }
      } catch (error) {
        if (error instanceof LuaScriptError) throw new LuaScriptError(`${path} ${error.message}`, { cause: error })
        throw error
      }
    })
  const beginnings = new Map<string, string>()
  for (const { folder, part, script } of scripts) {
    if (part)
      beginnings.set(join(folder, part), commonStart(beginnings.get(join(folder, part)) ?? script.text, script.text))
  }
  return new Map([
    ...scripts.map(({ name, folder, part, script }): [string, string] => {
      const typeImport = relative(folder, 'redis/scripts/script.ts').replace(/^(?!\.)/, './')
      const begin = part ? { part, text: beginnings.get(join(folder, part)) ?? '' } : undefined
      return [join(folder, `${name}.ts`), renderScriptModule(name, script, typeImport, begin)]
    }),
    ...Array.from(beginnings, ([path, text]): [string, string] => [
      `${path}.ts`,
      renderPartModule(basename(path), text),
    ]),
  ])
}

/** Ends the name of a file that is a part of scripts and not a script itself. */
const partEnding = '.part.lua'

/** A script's source, with the part that its header includes filled in, and that part's name. */
function readScript(path: string): { readonly source: string; readonly part: string | undefined } {
  const source = readFileSync(path, 'utf8')
  const [line, part] = /^-- @include (\S+)\.lua\n/m.exec(source) ?? []
  if (!line || !part) return { source, part: undefined }
  return { source: source.replace(line, () => readFileSync(join(dirname(path), `${part}.lua`), 'utf8')), part }
}

function commonStart(one: string, other: string): string {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return one.slice(0, length)
}

/** Returns how the committed modules under `src` differ from the ones to generate. */
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
