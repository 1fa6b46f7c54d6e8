import { afterAll, beforeAll, describe } from 'vitest'
import { abortClaims } from './abort-claims.ts'
import { callClaims } from './call-claims.ts'
import { type OpenUnconnected, readinessClaims } from './readiness-claims.ts'
import { replyClaims } from './reply-claims.ts'
import type { TransportUnderTest, UseTransport } from './transport-under-test.ts'

/**
 * The contract of a `RedisTransport` against a real server, one test per claim. An adapter calls it from its own
 * `conformance.test.ts`:
 *
 * ```ts
 * transportConformance('my client', async () => ({ transport: myTransport(client), close: () => client.quit() }))
 * ```
 *
 * It covers replies, calls, aborts, and readiness: what `whenReady` returns while the client has no connection, for
 * which it needs `openUnconnected`.
 *
 * Scripts touch keys `{leasehold-conformance-…}:…`, each with an expiry. The server has to be undisturbed: an answer
 * counts as `resent` if a connection was replaced meanwhile.
 */
export function transportConformance(name: string, open: () => Promise<TransportUnderTest>): void {
  describe(`${name}: a Redis transport`, () => {
    let opened: TransportUnderTest | undefined
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(() => opened?.close())

    const use: UseTransport = (context, capability) => {
      if (!opened) throw new Error('The transport could not be opened')
      const reason = capability && opened.skip?.[capability]
      if (reason !== undefined) context.skip(`${capability}: ${reason}`)
      return opened.transport
    }
    const openUnconnected: OpenUnconnected = async (context) => {
      use(context)
      return (await opened?.openUnconnected?.()) ?? context.skip('there is no connection to wait for')
    }
    describe('replies', () => replyClaims(use))
    describe('calls', () => callClaims(use))
    describe('abort', () => abortClaims(use))
    describe('readiness', () => readinessClaims(use, openUnconnected))
  })
}
