import type { Clock } from '@leasehold/core'
import { sharesBetweenCalls } from '@leasehold/core/adapter'
import { type BridgeToken, demandToken } from './bridge-endpoint.ts'
import { tokenMs } from './figures.ts'

/**
 * Resolves with the token to send. If the token is a function, it is called before the first request, and again if the
 * bridge has refused the token it returned last; it may return the same one again. If the function fails, returns no
 * token or is too slow, `onFailure` is called, and this rejects.
 *
 * Where calls share, one call of the function serves all who need its result at the time. Elsewhere they share only the
 * result.
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
