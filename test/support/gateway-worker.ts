/*
 * A separate process: a real Redis and the gateway in front of it. Sends its address and its token, and ends when it is
 * disconnected, so at the latest with its parent.
 */
import { startTestGateway, token } from '../../packages/bridge/test/gateway.ts'

const gateway = await startTestGateway()
process.once('disconnect', () => gateway[Symbol.asyncDispose]())
process.send?.({ url: gateway.url, token })
