import type { ConnectionSettings } from './connection/settings.ts'
import type { ExitCode } from './exit-code.ts'
import type { Terminal } from './output/terminal.ts'

/** One command of the program. It lives in a folder of its own, and is listed in `commands`. */
export interface CliCommand {
  readonly name: string
  /** Its arguments as `--help` shows them, such as `<key>` or `[pattern]`. */
  readonly args?: string
  /** One line for the list of commands. */
  readonly summary: string
  /** What `--help` says beyond the summary. */
  readonly description: string
  /** Its own options, besides those that every command has. */
  readonly options?: readonly CliOption[]
  /** Complete command lines that a reader may copy, each with what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[]
  /** Whether it talks to a Redis, and so takes the options that say which one. */
  readonly connects: boolean
  /**
   * Runs the command.
   *
   * @throws UsageError if the command line is invalid
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
  /** The arguments, in the order of the command's `args`; an optional one that is left out is missing. */
  readonly args: readonly string[]
  /** The command's own options by their names in camel case: text, or `true` for a flag without a value. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  /** Whether to write JSON. */
  readonly json: boolean
  /** Only for a command that connects. @throws UsageError if the settings are missing or invalid */
  settings(): ConnectionSettings
  readonly env: Readonly<Record<string, string | undefined>>
  readonly terminal: Terminal
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal
}
