import type { RouteGenericInterface } from 'fastify'
import { type FastifyCall, type Handler, requestOf } from './call.ts'

/** List headers: values from hooks are kept beside those of the answer. */
const lists = ['access-control-expose-headers', 'vary']

/** Makes a Fastify handler from one that answers web requests. What it throws goes to the app's error handler. */
export function handlerOf<R extends RouteGenericInterface>(
  respond: (request: Request, call: FastifyCall<R>) => Promise<Response>,
): Handler<R> {
  return async (request, reply) => {
    const made = requestOf({ request, reply })
    try {
      const answer = await respond(made, { request, reply })
      if (answer.statusText) reply.raw.statusMessage = answer.statusText
      // Fastify sends the answer's status, headers and body, and runs the hooks.
      return withLists(answer, reply)
    } catch (error) {
      if (!made.signal.aborted || error !== made.signal.reason) throw error
      // The client has left: nobody would read an answer.
      reply.hijack()
      return undefined
    }
  }
}

function withLists<R extends RouteGenericInterface>(answer: Response, reply: FastifyCall<R>['reply']): Response {
  const set = lists.filter((name) => answer.headers.has(name) && reply.hasHeader(name))
  if (set.length === 0) return answer
  const merged = new Response(answer.body, answer)
  for (const name of set) merged.headers.set(name, `${reply.getHeader(name)}, ${answer.headers.get(name)}`)
  return merged
}
