import { StoreUnavailableError } from '@leasehold/core'
import { expect, test } from 'vitest'
import { RedisProblem } from './redis-problem.ts'

const caused = (message: string, cause: unknown): Error => new Error(message, { cause })
const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code })

test.each([
  ["NOPERM this user has no permissions to run the 'get' command", "NOPERM, for the 'get' command"],
  [
    "NOPERM User operator-7 has no permissions to run the 'client|setinfo' command",
    "NOPERM, for the 'client|setinfo' command",
  ],
  ["ERR The user executing the script can't run this command or subcommand script: d9830", /^NOPERM.*'get', 'pttl'/],
  ['NOPERM this user has no permissions to access one of the keys used as arguments', /^NOPERM, for the keys/],
  ['NOPERM No permissions to access a channel', /^NOPERM, for the channels/],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'WRONGPASS'],
  ['NOAUTH Authentication required.', 'NOAUTH'],
  ['LOADING Redis is loading the dataset in memory', 'LOADING'],
  ['connect ECONNREFUSED 10.1.2.3:6379', 'ECONNREFUSED'],
  ['getaddrinfo ENOTFOUND redis.internal', 'ENOTFOUND'],
])('%s: the operator reads all of it, and anybody the kind', (message, known) => {
  const { message: whole, publicMessage } = new RedisProblem('No', new Error(message))
  expect(whole).toBe(`No: ${message}`)
  expect(publicMessage).toMatch(/^No: /)
  expect(publicMessage.slice(4)).toMatch(known)
  expect(publicMessage).not.toMatch(/operator-7|10\.1\.2\.3|redis\.internal|d9830/)
})

test('the deepest cause is the reason, and what nobody knows the kind of is told to the operator only', () => {
  const refused = new StoreUnavailableError('refused the request; see the cause', 'no', new Error('NOAUTH x'))
  expect(new RedisProblem('No', refused)).toMatchObject({ message: 'No: NOAUTH x', publicMessage: 'No: NOAUTH' })
  const tls = coded('Hostname/IP does not match: Host: db.internal', 'ERR_TLS_CERT_ALTNAME_INVALID')
  expect(new RedisProblem('No', caused('not connected', tls)).publicMessage).toBe('No: ERR_TLS_CERT_ALTNAME_INVALID')
  expect(new RedisProblem('No', new Error('something about db.internal')).publicMessage).toBe('No')
  for (const nothing of [undefined, 'text', {}]) expect(new RedisProblem('No', nothing).message).toBe('No')
})

test('causes in a ring are no reason to hang', () => {
  const ring = new Error('ring')
  ring.cause = ring
  expect(new RedisProblem('No', ring).message).toBe('No: ring')
})
