import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { plainError, refusalIn } from './client-error.ts'

const password = 'the-password-of-this-test'
const replyError = (message: string): Error =>
  Object.assign(new Error(message), { name: 'ReplyError', command: { name: 'auth', args: [password] } })

describe('plainError', () => {
  it('keeps names, messages and codes along the chain of causes, and nothing else', () => {
    const lastNodeError = Object.assign(replyError('WRONGPASS invalid'), { code: 'WRONGPASS' })
    const all = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError })
    const plain = plainError(new Error('outer', { cause: all }))
    expect(plain).toMatchObject({
      message: 'outer',
      cause: {
        message: 'Failed to refresh slots cache.',
        cause: { name: 'ReplyError', message: 'WRONGPASS invalid', code: 'WRONGPASS' },
      },
    })
    expect(inspect(plain, { depth: 10, showHidden: true })).not.toContain(password)
  })

  it('quotes no argument of a command that the server does not know', () => {
    const message = `ERR unknown command 'auth', with args beginning with: '${password}'`
    const plain = plainError(new Error('outer', { cause: replyError(message) }))
    expect(plain).toMatchObject({ cause: { message: "ERR unknown command 'auth'" } })
    expect(inspect(plainError(replyError(message)), { showHidden: true })).not.toContain(password)
  })

  it('names what became of a name with several addresses, whose error has no message', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:1'), { code: 'ECONNREFUSED' })
    const error = Object.assign(new AggregateError([refused]), { code: 'ECONNREFUSED' })
    expect(plainError(error)).toMatchObject({
      message: 'ECONNREFUSED',
      code: 'ECONNREFUSED',
      cause: { message: 'connect ECONNREFUSED ::1:1' },
    })
  })

  it('makes an error of whatever it is given, and ends with a ring of causes', () => {
    expect(plainError('odd')).toMatchObject({ message: 'odd' })
    expect(plainError(undefined)).toMatchObject({ message: 'undefined' })
    const ring = new Error('ring')
    ring.cause = ring
    expect(plainError(ring)).toMatchObject({ message: 'ring' })
  })
})

describe('refusalIn', () => {
  it('finds what the server says to credentials, at the end of a chain too', () => {
    for (const words of ['WRONGPASS invalid username-password pair', 'NOAUTH Authentication required.']) {
      expect(refusalIn(new Error(words))).toBe(words)
      expect(refusalIn(new Error('All failed', { cause: new Error(words) }))).toBe(words)
    }
    const words = "NOPERM this user has no permissions to run the 'cluster|slots' command"
    expect(refusalIn(new Error('All failed', { cause: new Error(words) }))).toBe(words)
  })

  it.each([
    'connect ECONNREFUSED 127.0.0.1:1',
    'LOADING Redis is loading the dataset in memory',
    'ERR max number of clients reached',
    "NOPERM this user has no permissions to run the 'select' command",
    'Connection is closed.',
  ])('takes for no refusal what may pass, or does not keep the connection from coming about: %s', (words) => {
    expect(refusalIn(new Error(words))).toBeUndefined()
  })
})
