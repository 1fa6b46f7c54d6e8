import { InvalidOptionError } from '@leasehold/core'
import type { Logger } from 'pino'
import { JoinedLog } from './joined-log.ts'
import { programLog, takeOver } from './program-log.ts'
import { type Environment, SettingsError, versionIn } from './program-settings.ts'

/** The parts in which the programs of this package differ. */
export interface Program<Settings> {
  readonly name: string
  /** The text that `--help` prints. */
  readonly usage: string
  /** The flag of each option, for error messages that name the option. */
  readonly flags: Readonly<Record<string, string>>
  /** @throws SettingsError naming the flag and the variable. */
  readonly settings: (args: readonly string[], env: Environment) => Settings | 'help' | 'version'
  /** @throws Error that says what cannot be used: Redis, the address, an option. */
  readonly start: (settings: Settings, log: Logger, joined: JoinedLog) => Promise<Running>
}

export interface Running {
  /** Where the program listens; logged when it is ready. */
  readonly address: { readonly url: string }
  stop(): Promise<void>
}

const manifest = new URL('../../package.json', import.meta.url)

/** Runs a program until it is told to stop. It writes lines of JSON, except for `--help` and `--version`. */
export async function runProgram<Settings>(program: Program<Settings>): Promise<void> {
  try {
    const settings = program.settings(process.argv.slice(2), process.env)
    if (settings === 'help') console.log(program.usage)
    else if (settings === 'version') console.log(versionIn(manifest))
    else await run(program, settings)
  } catch (error) {
    tellWhyNot(program, error as Error)
  }
}

async function run<Settings>({ name, start }: Program<Settings>, settings: Settings): Promise<void> {
  const log = programLog(name, 1)
  const joined = new JoinedLog()
  takeOver(log, joined)
  const running = await start(settings, log, joined)
  log.info(running.address, 'ready')
  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // `once`: if the same signal comes again, there is no listener, so it ends the process at once.
    process.once(signal, () => {
      if (!stopping) {
        log.info({ signal }, 'stopping')
        void running.stop().then(() => {
          joined.end()
          log.info('stopped')
        })
      }
      stopping = true
    })
  }
}

/** Reports why the program did not start: in plain words at a terminal, otherwise as a log line. */
function tellWhyNot({ name, flags }: Pick<Program<unknown>, 'name' | 'flags'>, error: Error): void {
  const ofSettings = error instanceof SettingsError || error instanceof InvalidOptionError
  process.exitCode = ofSettings ? 2 : 1
  const reason = error.message.replace(/^Option "(.*?)"/, (whole, option: string) => flags[option] ?? whole)
  if (process.stderr.isTTY) process.stderr.write(`${name}: ${reason}\n${ofSettings ? 'Try --help\n' : ''}`)
  else programLog(name, 2).fatal({ reason, ...(ofSettings && { hint: 'Try --help' }) }, 'not started')
}
