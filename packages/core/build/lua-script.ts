import { createHash } from 'node:crypto'
import luamin from 'luamin'

/** A Lua script as its header documents it, and as Redis gets it. */
export interface LuaScript {
  /** Arguments given once, before the repeated ones. */
  readonly args: readonly string[]
  /** Keys of each request. */
  readonly keys: readonly string[]
  /** Arguments of each request. */
  readonly each: readonly string[]
  /** The code with short local names and without comments or needless white space: it is part of every bundle. */
  readonly text: string
}

/** What is wrong with a script, as a sentence for whoever wrote it. */
export class LuaScriptError extends Error {
  override readonly name = 'LuaScriptError'
}

// Whichever begins first wins, so a `--` inside a string is no comment and a quote inside a comment is no string.
const commentOrString = /(?<comment>--[^\n]*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g
const tagLine = /^[ \t]*--[ \t]*@(?<tag>\S+)[ \t]*(?<name>\S*)[ \t]*(?<description>[^\n]*)$/gm
const nameForm = /^[a-z]\w*$/

/**
 * Reads the header's tags and shortens the code.
 *
 * @throws LuaScriptError for a header that is incomplete, or that documents what the code does not have, and for code
 *   that is no Lua.
 */
export function parseLuaScript(source: string): LuaScript {
  if (!/^--[ \t]*[^@\s[]/.test(source)) {
    throw new LuaScriptError('must open with "-- " and one sentence that says what it does')
  }
  const names = { arg: [] as string[], key: [] as string[], each: [] as string[] }
  let returns = false
  for (const { groups } of source.matchAll(tagLine)) {
    const { tag, name, description } = groups as { tag: string; name: string; description: string }
    if (tag === 'returns') {
      if (name === '') throw new LuaScriptError('has a "-- @returns" line that does not say what is returned')
      returns = true
    } else if (tag === 'arg' || tag === 'key' || tag === 'each') {
      if (!nameForm.test(name)) throw new LuaScriptError(`documents @${tag} "${name}", which is not a name`)
      if (description === '') throw new LuaScriptError(`documents @${tag} ${name} without a description`)
      names[tag].push(name)
    } else {
      throw new LuaScriptError(`has an unknown tag @${tag}; use @arg, @key, @each or @returns`)
    }
  }
  if (!returns) throw new LuaScriptError('has no "-- @returns" line')

  const code = withoutComments(source)
  const identifiers = identifiersOf(code)
  const seen = new Set<string>()
  for (const name of Object.values(names).flat()) {
    if (seen.has(name)) throw new LuaScriptError(`documents "${name}" twice`)
    if (!identifiers.has(name)) throw new LuaScriptError(`documents "${name}", but its code never uses that name`)
    seen.add(name)
  }
  return { args: names.arg, keys: names.key, each: names.each, text: shorten(code) }
}

function withoutComments(source: string): string {
  const code = source.replace(commentOrString, (match, comment: string | undefined) => {
    if (comment === undefined) return match
    // Telling these from code would take a parser, and no script needs them.
    if (/^--\[=*\[/.test(comment)) throw new LuaScriptError('has a block comment; use lines that begin with "--"')
    return ''
  })
  if (/\[=*\[/.test(code.replace(commentOrString, ''))) {
    throw new LuaScriptError('has a long string or "[["; use a quoted string, or a space between the brackets')
  }
  return code
}

function shorten(code: string): string {
  try {
    return luamin.minify(code)
  } catch (error) {
    throw new LuaScriptError(`is not Lua: ${(error as Error).message}`, { cause: error })
  }
}

/** Every name in the code that is not a field: `a`, `b` and `c` of `a.x = b .. c`. */
function identifiersOf(code: string): ReadonlySet<string> {
  const names = code.replace(commentOrString, '""').replaceAll('..', ' ')
  return new Set(Array.from(names.matchAll(/(?<![\w.:])[A-Za-z_]\w*/g), ([name]) => name))
}

/** The TypeScript module of a script. `typeImport` is where that module finds the type `Script`. */
export function renderScriptModule(name: string, script: LuaScript, typeImport: string): string {
  const exportName = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  const sha1 = createHash('sha1').update(script.text).digest('hex')
  const type = [script.args, script.keys, script.each].map(tuple).join(', ')
  return `// Generated from ../${name}.lua; run \`pnpm generate\`.
import type { Script } from '${typeImport}'

export const ${exportName}: Script<${type}> = {
  sha1: '${sha1}',
  text: \`${script.text.replace(/[\\`]|\$\{/g, '\\$&')}\`,
}
`
}

const tuple = (names: readonly string[]): string => `[${names.map((name) => `${name}: string`).join(', ')}]`
