import { demandObject, demandOption } from '@leasehold/core/adapter'

/**
 * What becomes of a key once its work has ended.
 *
 * - `complete`: the answer is recorded, and every later request with the key gets it
 * - `abandon`: nothing is recorded, and the next request runs. Only for answers that say that nothing happened. If the
 *   run had overtaken one in doubt, the key is in doubt again: what that run did is still unknown
 * - `leave`: nobody knows what happened. The key is in doubt until `inDoubtFor` is over
 */
export type Ending = 'complete' | 'abandon' | 'leave'

type StatusClass = '2xx' | '3xx' | '4xx' | '5xx'

/** Endings by status, by class of status, and for work that throws. A status wins over its class. */
export type Endings = { readonly [status in number | StatusClass]?: Ending | undefined } & {
  /** For work that throws, or whose body fails while it is read; or a function of the error. `complete` records a 500. */
  readonly thrown?: Ending | ((error: unknown) => Ending) | undefined
}

/**
 * Answers are recorded, except those that ask the client to try again.
 *
 * 401 is about credentials, which the fingerprint leaves out. 408, 409, 423, 425 and 429 are about the moment. After a
 * 5xx, the key is there for the retry. Work that throws does not know what it has done, so its key is left in doubt.
 */
const defaults: Endings = {
  '2xx': 'complete',
  '3xx': 'complete',
  '4xx': 'complete',
  '5xx': 'abandon',
  401: 'abandon',
  408: 'abandon',
  409: 'abandon',
  423: 'abandon',
  425: 'abandon',
  429: 'abandon',
  thrown: 'leave',
}

/** Endings, complete and checked. */
export interface EndingRules {
  ofStatus(status: number): Ending
  ofError(error: unknown): Ending
}

/** @throws InvalidOptionError for a status or an ending that is not known */
export function endingRules(given: Endings = {}): EndingRules {
  demandObject(given)
  for (const [status, ending] of Object.entries(given)) {
    const known = /^([2-5]xx|[2-5]\d\d|thrown)$/.test(status)
    demandOption(known, 'endings', `by status, such as 404 or "4xx", or "thrown"; "${status}" is neither`)
    const fits = ending === undefined || isEnding(ending) || (status === 'thrown' && typeof ending === 'function')
    demandOption(fits, 'endings', '"complete", "abandon" or "leave" for each status')
  }
  return {
    ofStatus(status) {
      // A class given by the user covers all its statuses, so it wins over a status of the defaults.
      const ofClass = `${Math.floor(status / 100)}xx` as StatusClass
      return given[status] ?? given[ofClass] ?? defaults[status] ?? defaults[ofClass] ?? 'leave'
    },
    ofError(error) {
      const rule = given.thrown ?? defaults.thrown
      const ending = typeof rule === 'function' ? rule(error) : rule
      return isEnding(ending) ? ending : 'leave'
    },
  }
}

const isEnding = (ending: unknown): ending is Ending =>
  ending === 'complete' || ending === 'abandon' || ending === 'leave'
