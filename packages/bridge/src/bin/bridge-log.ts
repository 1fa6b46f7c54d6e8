import type { Logger } from 'pino'
import type { BridgeEvent } from '../server/index.ts'
import { JoinedLog } from './joined-log.ts'
import { plain } from './program-log.ts'

export interface BridgeLog {
  /** Writes what an operator should know. What happens all the time is counted and not written down. */
  tell(event: BridgeEvent): void
  /** Writes what was held back. */
  end(): void
}

/** The log of a bridge, from its events. Lines of one cause are joined: see `JoinedLog`. */
export function bridgeLog(log: Logger, joined: JoinedLog = new JoinedLog()): BridgeLog {
  return {
    tell(event) {
      switch (event.type) {
        case 'listening':
          joined.write('listening', (times) => {
            // How often it had failed comes before that it works.
            joined.flush('deaf')
            log.info({ ...more(times) }, 'listening for releases')
          })
          return
        case 'deaf': {
          const reason = reasonOf(event.problem)
          joined.write(`deaf ${reason}`, (times) =>
            log.warn({ reason, ...more(times) }, 'releases are not heard; connecting again'),
          )
          return
        }
        case 'store-asked': {
          if (!event.problem) return
          const reason = reasonOf(event.problem)
          joined.write(`store ${reason}`, (times) => log.warn({ reason, ...more(times) }, 'Redis did not answer looks'))
          return
        }
        case 'failed': {
          const err = event.error
          const { message } = plain(err)
          joined.write(`failed ${message}`, (times) => log.error({ err, ...more(times) }, 'a request failed'))
        }
      }
    },
    end: () => joined.end(),
  }
}

/** How many lines this one stands for, if it is not itself alone. */
const more = (times: number): { readonly times?: number } => (times > 1 ? { times } : {})

/** Why, with what was behind it. */
const reasonOf = ({ message, cause }: Error): string =>
  cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message
