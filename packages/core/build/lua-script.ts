import { createHash } from 'node:crypto'
import luamin from 'luamin'

/** A Lua script: what its header documents, and the code that Redis gets. */
export interface LuaScript {
  /** The arguments that are given once, before the requests' own. */
  readonly args: readonly string[]
  /** The keys of each request. */
  readonly keys: readonly string[]
  /** The arguments of each request. */
  readonly each: readonly string[]
  /** The code, with short local names, no comments and no needless white space, because it is in every bundle. */
  readonly text: string
}

/** The usual short name of each local. Code that scripts share compresses better if all of them use the same names. */
export type ShortNames = Map<string, string>

/** Tells a script's author what is wrong with it. The message is the rest of a sentence that begins with the script. */
export class LuaScriptError extends Error {
  override readonly name = 'LuaScriptError'
}

// Whichever begins first wins: a `--` inside a string is not a comment, and a quote inside a comment does not begin a
// string.
const commentOrString = /(?<comment>--[^\n]*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g
const tagLine = /^[ \t]*--[ \t]*@(?<tag>\S+)[ \t]*(?<name>\S*)[ \t]*(?<description>[^\n]*)$/gm
const nameForm = /^[a-z]\w*$/
const nameOrString = /(?<![\w:])(?<!(?<!\.)\.)(?<name>[A-Za-z_]\w*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g
const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ']

/**
 * Reads the header's tags and shortens the code.
 *
 * @param usual the short names of earlier scripts; those of this script are added to it
 * @throws LuaScriptError for a header that is incomplete or documents a name that the code does not use
 * @throws LuaScriptError for code that is not Lua
 */
export function parseLuaScript(source: string, usual: ShortNames = new Map()): LuaScript {
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
  const identifiers = new Set(namesIn(code))
  const seen = new Set<string>()
  for (const name of Object.values(names).flat()) {
    if (seen.has(name)) throw new LuaScriptError(`documents "${name}" twice`)
    if (!identifiers.has(name)) throw new LuaScriptError(`documents "${name}", but its code never uses that name`)
    seen.add(name)
  }
  return { args: names.arg, keys: names.key, each: names.each, text: shorten(code, usual) }
}

function withoutComments(source: string): string {
  const code = source.replace(commentOrString, (match, comment: string | undefined) => {
    if (comment === undefined) return match
    // Telling block comments from code would take a parser, and no script needs them.
    if (/^--\[=*\[/.test(comment)) throw new LuaScriptError('has a block comment; use lines that begin with "--"')
    return ''
  })
  if (/\[=*\[/.test(code.replace(commentOrString, ''))) {
    throw new LuaScriptError('has a long string or "[["; use a quoted string, or a space between the brackets')
  }
  return code
}

function shorten(code: string, usual: ShortNames): string {
  try {
    const names = namesIn(code)
    const shortName = shortener(names, usual)
    const before = names.values()
    // Minifying keeps the order of names. It also keeps names that are not local, and none of those is a single letter.
    return luamin.minify(code).replace(nameOrString, (match, name: string | undefined) => {
      if (name === undefined) return match
      const long = before.next().value as string
      return name === long && name.length > 1 ? name : shortName(long)
    })
  } catch (error) {
    throw new LuaScriptError(`is not Lua: ${(error as Error).message}`, { cause: error })
  }
}

/** Gives each local its usual letter or, if that is taken, the first one that no other name here has or usually has. */
function shortener(names: readonly string[], usual: ShortNames): (name: string) => string {
  const short: ShortNames = new Map()
  return (name) => {
    const known = short.get(name)
    if (known) return known
    const taken = new Set(short.values())
    const reserved = new Set([...taken, ...names.map((other) => usual.get(other))])
    const own = usual.get(name)
    const made = own && !taken.has(own) ? own : (letters.find((letter) => !reserved.has(letter)) ?? name)
    short.set(name, made)
    if (!own) usual.set(name, made)
    return made
  }
}

/** Every name in the code that is not a field, in order, such as `a`, `b` and `c` in `a.x = b .. c`. */
const namesIn = (code: string): readonly string[] =>
  Array.from(code.matchAll(nameOrString), ([, name]) => name ?? '').filter((name) => name)

/** The text that several scripts begin with, and the name of the part it comes from. */
export interface Beginning {
  readonly part: string
  readonly text: string
}

/**
 * Renders the TypeScript module of a script. `typeImport` is the path from which that module imports the type `Script`.
 * If the script shares its beginning with others, the module imports that, too.
 */
export function renderScriptModule(name: string, script: LuaScript, typeImport: string, beginning?: Beginning): string {
  const sha1 = createHash('sha1').update(script.text).digest('hex')
  const type = [script.args, script.keys, script.each].map(tuple).join(', ')
  return `// Generated from ../${name}.lua; run \`pnpm generate\`.
import type { Script } from '${typeImport}'
${beginning ? `import { ${camelCase(beginning.part)} } from './${beginning.part}.ts'\n` : ''}
export const ${camelCase(name)}: Script<${type}> = {
  sha1: '${sha1}',
  text: ${beginning ? `${camelCase(beginning.part)} + ` : ''}${literal(script.text.slice(beginning?.text.length ?? 0))},
}
`
}

/** Renders the module of the text that all scripts with the same part begin with. */
export const renderPartModule = (name: string, text: string): string =>
  `// Generated from ../${name}.lua and the scripts that include it; run \`pnpm generate\`.
export const ${camelCase(name)}: string = ${literal(text)}
`

const literal = (text: string): string => `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``

const camelCase = (name: string): string => name.replace(/[-.](\w)/g, (_, letter: string) => letter.toUpperCase())

const tuple = (names: readonly string[]): string => `[${names.map((name) => `${name}: string`).join(', ')}]`
