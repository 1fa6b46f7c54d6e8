import type { ConnectionSettings } from './connection/settings.ts'
import type { ExitCode } from './exit-code.ts'
import type { Terminal } from './output/terminal.ts'

/** One command of the program. It lives in a folder of its own, and is one of the list `commands`. */
export interface CliCommand {
  readonly name: string
  /** Its arguments as `--help` shows them, such as `<key>` or `[pattern]`. */
  readonly args?: string
  /** One line for the list of commands. */
  readonly summary: string
  /** What `--help` says beyond the summary. */
  readonly description: string
  /** Its own options, beside those that every command has. */
  readonly options?: readonly CliOption[]
  /** Whole command lines that a reader may copy, each with what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[]
  /** Whether it talks to a Redis, and so takes the options that say which. */
  readonly connects: boolean
  /**
   * Carries it out.
   *
   * @throws UsageError if the command line is wrong
   * @throws StoreUnavailableError if Redis cannot be reached, does not answer or refuses
   */
  run(invocation: Invocation): Promise<ExitCode>
}

export interface CliOption {
  /** As in `--limit <number>`. */
  readonly flags: string
  readonly description: string
  readonly default?: string
}

/** One run of a command. */
export interface Invocation {
  /** In the order of `args`; an optional one that is left out is missing. */
  readonly args: readonly string[]
  /** The command's own options by their name in camel case: text, or `true` for a flag without a value. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  /** Whether to write JSON. */
  readonly json: boolean
  /** Only a command that connects has them. @throws UsageError if they are missing or wrong */
  settings(): ConnectionSettings
  readonly env: Readonly<Record<string, string | undefined>>
  readonly terminal: Terminal
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal
}
