import { format, inspect } from 'node:util'
import { destination, type Logger, pino } from 'pino'

/** Where log lines go: to stdout, or, when there is nothing to start, to stderr. */
type Output = 1 | 2

/** JSON lines, each written before the program goes on, so that the last one before its end is not lost. */
export const gatewayLog = (output: Output): Logger =>
  pino({ name: 'leasehold-gateway' }, destination({ dest: output, sync: true }))

/**
 * What may be said of an error. Its other properties are left out: those of a client library may hold a command, and with it
 * a lock's token.
 */
export const faultOf = (error: unknown): { readonly err: object } =>
  error instanceof Error
    ? { err: { type: error.name, message: error.message, stack: error.stack } }
    : { err: { message: inspect(error) } }

/** Whatever libraries, and Node itself, would write to stdout or stderr in a form of their own becomes a line of the log. */
export function logEverything(log: Logger): void {
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    console[level] = (...said: unknown[]) => {
      const [first] = said
      if (first instanceof Error) log[level](faultOf(first), first.message)
      else log[level](format(...said))
    }
  }
  console.log = console.info
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn(faultOf(warning), warning.message))
  process.on('uncaughtException', (error) => {
    log.fatal(faultOf(error), 'ended by an error that nobody handled')
    process.exit(1)
  })
}
