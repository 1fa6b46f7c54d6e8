import type { CallDeadline } from '../../timing/call-deadline.ts'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import { Delivery, type Route } from './delivery.ts'

/**
 * Sends what can be sent now, in one write per connection. Resolves when all is answered or the deadline is over.
 *
 * @param behind sends something more in the same write; not called if nothing was sent
 */
export const run = <C extends object>(
  route: Route<C>,
  calls: readonly ScriptCall[],
  deadline: CallDeadline,
  behind?: () => void,
): Promise<readonly ScriptReply[]> =>
  new Promise((resolve) => {
    const replies: ScriptReply[] = []
    let open = calls.length
    let withdraw: (() => void) | undefined
    const deliveries = calls.map(
      (call, at) =>
        new Delivery(route, call, deadline, (reply) => {
          replies[at] = reply
          if (--open > 0) return
          withdraw?.()
          resolve(replies)
        }),
    )
    const send = (): void => {
      for (const delivery of deliveries) delivery.begin()
      // With nothing before it, it would say nothing, and a line that has gone silent would keep it.
      if (behind && deliveries.some(({ isHandedOver }) => isHandedOver)) behind()
    }
    // One listener for all: a signal warns of more than ten.
    if (open > 0) {
      withdraw = deadline.onOver(() => {
        for (const delivery of deliveries) delivery.giveUp()
      })
    }
    // There are no calls, or their time is over already.
    if (open === 0) resolve(replies)
    else if ((open === 1 && !behind) || !route.to.inOneWrite) send()
    else route.to.inOneWrite(send)
  })
