import type { CannedReply, Exchange } from './http-proxy-exchange.ts'
import type { HttpRoute } from './http-route.ts'
import type { Ending } from './reply-drop.ts'

/** Decides what happens to one request, from when it would leave the proxy for the server. */
export type Treatment = (exchange: Exchange, route: HttpRoute) => Promise<void>

/** The ordinary treatment: carried out and answered. */
export const forward: Treatment = async (exchange, route) => route.deliver(exchange, await route.send(exchange))

/** The proxy answers, and the server does not hear of it. */
export const answerWith =
  (reply: CannedReply): Treatment =>
  async (exchange) =>
    exchange.answer(reply)

/** Carried out, and nothing of the reply is delivered. */
export const dropReply =
  (ending: Ending): Treatment =>
  async (exchange, route) => {
    const reply = await route.send(exchange)
    reply.resume()
    if (ending === 'cut') exchange.cut()
  }

/** Carried out twice in a row. */
export const sendTwice =
  (delivered: 'first' | 'last'): Treatment =>
  async (exchange, route) => {
    const replies = { first: await route.send(exchange), last: await route.send(exchange) }
    replies[delivered === 'first' ? 'last' : 'first'].resume()
    await route.deliver(exchange, replies[delivered])
  }

/** Carried out; only the first request of a connection is answered. */
export const cutUnlessFirst: Treatment = (exchange, route) =>
  (exchange.isFirst ? forward : dropReply('cut'))(exchange, route)

/** Applies one treatment after another, and then starts over. */
export function inTurn(treatments: readonly [Treatment, ...Treatment[]]): Treatment {
  let turn = 0
  return (exchange, route) => (treatments[turn++ % treatments.length] ?? treatments[0])(exchange, route)
}

/** Held back until the server has answered `others` that arrived later. Calls `sent` once it is carried out, too. */
export const overtakenBy =
  (others: number, sent: () => void): Treatment =>
  async (held, route) => {
    for (let overtaken = 0; overtaken < others; ) {
      const answered = await route.nextReply()
      if (answered.place > held.place) overtaken++
    }
    const reply = await route.send(held)
    sent()
    await route.deliver(held, reply)
  }
