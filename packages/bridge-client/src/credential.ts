import type { Clock } from '@leasehold/core'
import { sharesBetweenCalls } from '@leasehold/core/adapter'
import { type BridgeToken, demandToken } from './bridge-endpoint.ts'
import { tokenMs } from './figures.ts'

/**
 * Answers the token to send: the one there is, unless that is the one that was refused. Then, and before the first
 * request, a function is asked, and may answer the same again. Rejects, once that has been told, if the function
 * fails, answers no token, or is too slow.
 *
 * Where calls share, one question serves all who need the answer at the time. Elsewhere only the answer is shared.
 */
export function credential(
  token: BridgeToken,
  clock: Clock,
  onFailure: (cause: unknown) => void,
): (refused?: string) => Promise<string> {
  let kept: string | undefined
  let asking: Promise<string> | undefined

  const ask = (question: () => string | Promise<string>): Promise<string> =>
    new Promise((resolve, reject) => {
      const cancel = clock.schedule(reject, tokenMs, 'background')
      const answer = async (): Promise<string> => demandToken(await question())
      void answer().then(resolve, reject).then(cancel)
    })

  return async (refused) => {
    if (typeof token === 'string') return token
    if (kept === refused) {
      const answer = asking ?? ask(token)
      if (sharesBetweenCalls()) asking = answer
      try {
        kept = await answer
      } catch (cause) {
        onFailure(cause)
        throw cause
      } finally {
        asking = undefined
      }
    }
    return kept as string
  }
}
