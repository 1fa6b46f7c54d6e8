import type { RequestHandler } from 'express'
import { send } from './answer.ts'
import { type ExpressCall, requestOf } from './call.ts'

/** Makes an Express handler from one that answers web requests. What it throws goes to the app's error handlers. */
export function handlerOf(respond: (request: Request, call: ExpressCall) => Promise<Response>): RequestHandler {
  return (req, res, next) => {
    async function run(): Promise<void> {
      const request = requestOf({ req, res })
      try {
        await send(await respond(request, { req, res }), res)
      } catch (error) {
        // The client has left: nobody would read an answer.
        if (!request.signal.aborted || error !== request.signal.reason) throw error
      }
    }
    run().catch(next)
  }
}
