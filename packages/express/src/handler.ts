import type { RequestHandler } from 'express'
import { send } from './answer.ts'
import { type ExpressCall, requestOf } from './call.ts'

/** Makes a handler of Express of one that answers web requests. What it throws goes to the error handlers of the app. */
export function handlerOf(respond: (request: Request, call: ExpressCall) => Promise<Response>): RequestHandler {
  return (req, res, next) => {
    async function run(): Promise<void> {
      const request = requestOf({ req, res })
      try {
        await send(await respond(request, { req, res }), res)
      } catch (error) {
        // Nobody reads an answer.
        if (!request.signal.aborted || error !== request.signal.reason) throw error
      }
    }
    run().catch(next)
  }
}
