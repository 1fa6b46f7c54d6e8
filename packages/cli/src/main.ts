import { readFileSync } from 'node:fs'
import { InvalidOptionError, LeaseholdError } from '@leasehold/core'
import { Command, CommanderError } from 'commander'
import type { CliCommand, Invocation } from './cli-command.ts'
import {
  type ConnectionOptions,
  type ConnectionSettings,
  connectionFlags,
  connectionSettings,
  isHttp,
  withoutSecrets,
} from './connection/settings.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { hintFor } from './hints.ts'
import { Interrupted } from './interrupted.ts'
import { processTerminal, type Terminal, type TerminalProcess } from './output/terminal.ts'
import { UsageError } from './usage-error.ts'

/** The parts of the process that are used. */
export interface CliProcess extends TerminalProcess {
  once(event: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  off(event: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
}

const exitCodes = `Exit codes:
  0  done; the answer is yes
  1  the answer is no: the lock is free, you declined, an error was found, the promise was not kept
  2  the command line is wrong; nothing was sent
  3  there is no answer: Redis could not be reached, did not answer or refused, or the key holds no lock
  130  ended before it was done: by Ctrl-C, or nobody reads what it writes
`

const secretsNote = `
Other users of the machine can read a flag: give a token, or the URL's password, by the environment.
`

/** Reads the command line, runs the command, and returns the exit code. Never rejects. */
export async function main(
  commands: readonly CliCommand[],
  args: readonly string[],
  process: CliProcess,
): Promise<ExitCode> {
  let ended: ExitCode = exitCode.done
  const json = args.includes('--json')
  const program = new Command('leasehold')
    .description('Shows the locks of a Redis, and acts on them.')
    .version(version(), '--version', 'print the version')
    .helpOption('--help', 'print this text')
    .helpCommand('help [command]', 'print what a command does, with an example')
    .configureHelp({ helpWidth: process.stdout.columns ?? 100 })
    .addHelpText('after', `\n${exitCodes}`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void process.stdout.write(text),
      // As JSON, the error is written below.
      writeErr: (text) => void (json || process.stderr.write(text)),
    })
  for (const command of commands) {
    define(program, command).action(async (...given: unknown[]) => {
      ended = await carryOut(command, given.slice(0, -2), given.at(-2) as AllOptions, process)
    })
  }
  try {
    await program.parseAsync([...args], { from: 'user' })
    return ended
  } catch (error) {
    // The program has written what is wrong, or the text that was asked for.
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return exitCode.done
    const isKey = /unknown option '-[^-]/.test(error.message)
    const hint = isKey ? 'Write -- before a key or pattern that begins with "-": leasehold show -- -key' : undefined
    const message = error.message.replace(/^error: /, '').trim()
    if (json) process.stderr.write(errorObject('USAGE', message, hint))
    else if (hint) process.stderr.write(`${hint}\n`)
    return exitCode.usage
  }
}

const errorObject = (code: string, message: string, hint: string | undefined): string =>
  `${JSON.stringify({ error: { code, message, ...(hint && { hint }) } })}\n`

const version = (): string =>
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { readonly version: string })
    .version

type AllOptions = ConnectionOptions & { readonly json?: boolean; readonly color?: boolean } & Invocation['options']

function define(
  program: Command,
  { name, args = '', summary, description, options = [], ...rest }: CliCommand,
): Command {
  const command = program.command(`${name} ${args}`.trim(), { hidden: false }).summary(summary).description(description)
  for (const { flags, description, default: value } of options) command.option(flags, description, value)
  if (rest.connects) {
    for (const { flags, description, variables } of Object.values(connectionFlags)) {
      command.option(flags, `${description} (${variables.join(', ')})`)
    }
    command.option('--cluster', 'the URL is that of a node of a Redis Cluster')
    command.option('--sentinel <name>', 'the URL is that of a Sentinel, which watches the group of this name')
  }
  command.option('--json', 'write JSON')
  command.option('--no-color', 'write without colors, as with NO_COLOR')
  const lines = rest.examples.map(([line, does]) => `  $ ${line}\n      ${does}\n`)
  return command
    .helpOption('--help', 'print this text')
    .addHelpText('after', `\nExamples:\n${lines.join('')}${rest.connects ? secretsNote : ''}`)
}

async function carryOut(
  command: CliCommand,
  args: readonly unknown[],
  options: AllOptions,
  process: CliProcess,
): Promise<ExitCode> {
  const terminal = processTerminal(process, options.color !== false)
  const interruption = new AbortController()
  const interrupt = (): void => interruption.abort(new Interrupted())
  // Once: a second signal ends the process on the spot.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt)
  let settings: ConnectionSettings | undefined
  const json = options.json === true
  const tellNote = (note: string): void => terminal.tell(json ? `${JSON.stringify({ note })}\n` : `${note}\n`)
  try {
    return await command.run({
      args: args.filter((arg): arg is string => typeof arg === 'string'),
      options,
      json,
      settings: () => {
        settings ??= connectionSettings(options, process.env)
        if (options.token && !isHttp(settings.url)) tellNote('--token is for a REST endpoint, and is not used here')
        return settings
      },
      env: process.env,
      terminal,
      signal: interruption.signal,
    })
  } catch (error) {
    if (interruption.signal.aborted || error instanceof Interrupted) return exitCode.interrupted
    return tellError(error, command, json, terminal, (text) => withoutSecrets(text, settings))
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt)
  }
}

/** Reports what went wrong on stderr; with `--json` as an object. */
function tellError(
  error: unknown,
  { name }: CliCommand,
  json: boolean,
  { tell, colors }: Terminal,
  hide: (text: string) => string,
): ExitCode {
  const isUsage = error instanceof UsageError || error instanceof InvalidOptionError
  const said = hide(error instanceof Error ? error.message : String(error))
  const message = error instanceof InvalidOptionError && error.option !== 'key' ? asFlag(said) : said
  const hint = hintFor(message, name)
  const code = isUsage ? 'USAGE' : error instanceof LeaseholdError ? error.code : 'UNEXPECTED'
  if (json) tell(errorObject(code, message, hint))
  else {
    tell(`${colors.red('leasehold')}: ${message}\n`)
    if (hint) tell(`${hint}\n`)
    if (isUsage) tell(`Try: leasehold ${name} --help\n`)
  }
  return isUsage ? exitCode.usage : exitCode.unavailable
}

/** Names an option by its flag, as on the command line. */
const asFlag = (message: string): string =>
  message.replace(
    /^Option "(\w+)"/,
    (_, name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  )
