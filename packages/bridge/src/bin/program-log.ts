import { format } from 'node:util'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type { JoinedLog } from './joined-log.ts'

/** The parts of an error that may be logged. Client libraries attach the command and its arguments to their errors. */
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

/** The options of every log. */
export const logOptions: LoggerOptions = { serializers: { err: plain, warning: plain } }

/** How many lines this one stands for, if more than one. */
export const more = (times: number): { readonly times?: number } => (times > 1 ? { times } : {})

/** Writes to 1 (stdout) or 2 (stderr), synchronously, so that the last line before an exit is not lost. */
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
 * Makes the log the only writer: what Node or a library would print as plain text becomes a log line. An uncaught error
 * is the last line, and ends the process.
 *
 * @param joined joins lines that a library repeats at each attempt; what it holds back is written before the last line
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
  // Unhandled rejections come here as well, however Node is set to handle them.
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
