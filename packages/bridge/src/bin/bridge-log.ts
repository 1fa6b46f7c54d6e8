import type { Logger } from 'pino'
import type { OnBridgeEvent } from '../server/index.ts'
import type { JoinedLog } from './joined-log.ts'
import { more, plain } from './program-log.ts'

/** The log of a bridge: what an operator should know. Frequent events are counted, not logged. */
export function bridgeLog(log: Logger, joined: JoinedLog): OnBridgeEvent {
  let unanswered = false
  return (event) => {
    switch (event.type) {
      case 'listening':
        joined.write('listening', (times) => {
          // Logs first how often it failed, then that it works.
          joined.flush('disconnected')
          log.info({ ...more(times) }, 'listening for releases')
        })
        return
      case 'disconnected': {
        const reason = reasonOf(event.problem)
        joined.write(`disconnected ${reason}`, (times) =>
          log.warn({ reason, ...more(times) }, 'releases are not heard; connecting again'),
        )
        return
      }
      case 'places-asked': {
        if (!event.problem) return
        const reason = reasonOf(event.problem)
        joined.write(`places ${reason}`, (times) =>
          log.warn({ reason, ...more(times) }, 'places in queues are not kept'),
        )
        return
      }
      case 'store-asked': {
        if (!event.problem) {
          if (unanswered)
            joined.write('answered', (times) => {
              joined.flush('store')
              log.info({ ...more(times) }, 'Redis answers checks again')
            })
          unanswered = false
          return
        }
        unanswered = true
        const reason = reasonOf(event.problem)
        joined.write(`store ${reason}`, (times) => log.warn({ reason, ...more(times) }, 'Redis did not answer checks'))
        return
      }
      case 'failed': {
        const err = event.error
        const { message } = plain(err)
        joined.write(`failed ${message}`, (times) => log.error({ err, ...more(times) }, 'a request failed'))
      }
    }
  }
}

/** The message, plus the cause's message if that says more. */
const reasonOf = ({ message, cause }: Error): string =>
  cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message
