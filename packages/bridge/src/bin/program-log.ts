import { format } from 'node:util'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type { JoinedLog } from './joined-log.ts'

/** An error as a line of the log has it: no more of it, for clients hang the command with its arguments on theirs. */
export interface PlainError {
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
}

export function plain(error: unknown): PlainError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { name, message, code, stack } = error as NodeJS.ErrnoException
  return { type: name, message, ...(code !== undefined && { code }), ...(stack !== undefined && { stack }) }
}

/** How the lines of a log are made. */
export const logOptions: LoggerOptions = { serializers: { err: plain, warning: plain } }

/** How many lines this one stands for, if it is not itself alone. */
export const more = (times: number): { readonly times?: number } => (times > 1 ? { times } : {})

/** Where lines go: 1 for stdout, 2 for stderr. A line is written when it is told, so that the last before an end is there. */
export const programLog = (name: string, descriptor: 1 | 2): Logger =>
  pino({ name, ...logOptions }, pino.destination({ dest: descriptor, sync: true }))

const consoleLevels = {
  debug: 'debug',
  log: 'info',
  info: 'info',
  warn: 'warn',
  error: 'error',
  trace: 'warn',
} as const

/**
 * Makes the log the only one who writes: what Node or a library would write by itself as plain text becomes a line of it.
 * An error that nobody caught is the last line, and ends the process.
 *
 * @param joined what a library says at each attempt is said once, and what is held back is written before the last line
 */
export function takeOver(log: Logger, joined: JoinedLog): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    joined.write(`node ${warning.message}`, (times) => log.warn({ warning, ...more(times) }, 'a warning of Node'))
  })
  for (const [method, level] of Object.entries(consoleLevels) as [keyof typeof consoleLevels, 'info'][]) {
    console[method] = (...args: unknown[]) => {
      const text = format(...args)
      joined.write(`console ${text}`, (times) => {
        log[level]({ text, ...more(times) }, 'a library wrote to the console')
      })
    }
  }
  // Rejections that nobody handles come here as well, whatever Node was told to do with them.
  const end = (error: unknown): void => {
    try {
      joined.end()
      log.fatal({ err: error }, 'ended by an error that nobody caught')
    } finally {
      process.exit(1)
    }
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}
