/** A TypeScript snippet of a Markdown page. */
export interface Snippet {
  /** `README.md:12`, the line of its opening fence. */
  readonly place: string
  /** A whole program. Each line is at the same line as in the page, so that an error's line number is the page's. */
  readonly program: string
  /** Whether the page says that it runs as it is (` ```ts run `). */
  readonly runs: boolean
  /** Whether it is a file of tests, which a test runner has to run (` ```ts test `). */
  readonly tests: boolean
  /** The expected output from its `// prints: …` comments, line by line. */
  readonly prints: readonly string[]
  /** Why the page asks not to check it (` ```ts ignore <reason> `). */
  readonly ignored?: string
}

const fence = /^```(\w+)[ \t]*(.*)\n([\s\S]*?)^```[ \t]*$/gm
const modes = ['', 'run', 'test', 'continues', 'continues run', 'continues test']

/**
 * Finds the snippets of a page. One that `continues` builds on the one before it.
 *
 * @throws Error for a fence that would escape the check: another name for TypeScript, an unknown word after `ts`, or
 *   `ignore` without a reason.
 */
export function snippetsOf(page: string, markdown: string): readonly Snippet[] {
  const snippets: Snippet[] = []
  let before = ''
  for (const match of markdown.matchAll(fence)) {
    const [, language, mode, code] = match as unknown as [string, string, string, string]
    const line = markdown.slice(0, match.index).split('\n').length
    const place = `${page}:${line}`
    if (/^(js|javascript|typescript|tsx|mjs|mts)$/.test(language)) throw new Error(`${place}: call the language "ts"`)
    if (language !== 'ts') continue
    const ignored = /^ignore\b[ \t]*(.*)$/.exec(mode.trim())?.[1]
    if (ignored === '') throw new Error(`${place}: say after "ignore" why the snippet cannot be checked`)
    if (ignored === undefined && !modes.includes(mode.trim())) throw new Error(`${place}: "${mode}" is not a mode`)

    const start = mode.startsWith('continues') ? before : ''
    const program = start + '\n'.repeat(line - start.split('\n').length + 1) + code
    const prints = Array.from(code.matchAll(/\/\/ prints: (.*)$/gm), ([, text]) => text as string)
    const [runs, tests] = ['run', 'test'].map((word) => mode.split(' ').includes(word)) as [boolean, boolean]
    snippets.push({ place, program, runs, tests, prints, ...(ignored && { ignored }) })
    if (ignored === undefined) before = program
  }
  return snippets
}
