/*
 * A process of its own: a real Redis and the gateway in front of it. Sends where it is and its token, and ends when it is
 * disconnected, so with its parent at the latest.
 */
import { startTestGateway, token } from '../../packages/bridge/test/gateway.ts'

const gateway = await startTestGateway()
process.once('disconnect', () => gateway[Symbol.asyncDispose]())
process.send?.({ url: gateway.url, token })
