import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { failure, plainValue } from './script-reply.ts'

const token = '0123456789abcdef0123456789abcdef.1700000000000000'
const call = { command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args: [token, '10000'] } as const

describe('plainValue', () => {
  it('turns buffers into text, and numbers sent as strings into numbers, at any depth', () => {
    const text = (value: string): Buffer => Buffer.from(value)
    expect(plainValue([1, '2', text('3'), [text('é'), null], []])).toEqual([1, 2, '3', ['é', null], []])
  })
})

describe('failure', () => {
  it('keeps nothing of an error but its name and a message without arguments', () => {
    const error = Object.assign(new Error(`Gave up on ${token}`), { command: { name: 'evalsha', args: [token] } })
    error.name = 'AbortError'
    const reply = failure(error, call)
    const cause = { name: 'AbortError', message: 'Gave up on (argument)' }
    expect(reply).toMatchObject({ type: 'unknown', executed: 'unknown', cause })
    expect(inspect(reply, { depth: 10, showHidden: true })).not.toContain(token)
  })

  it('ends a server’s message where it begins to quote arguments', () => {
    const error = new Error(`ERR unknown command 'evalsha', with args beginning with: 'ffff' '1' 'lock:a' '${token}' `)
    error.name = 'ReplyError'
    expect(failure(error, call)).toEqual({ type: 'error', message: "ERR unknown command 'evalsha'" })
  })

  it('takes a call that the nodes of a cluster sent from one to the other for one that none has carried out', () => {
    for (const last of ['TRYAGAIN Multiple keys', 'ASK 1 127.0.0.1:1', 'MOVED 1 127.0.0.1:1', 'CLUSTERDOWN']) {
      const error = new Error(`Too many Cluster redirections. Last error: ReplyError: ${last}`)
      const message = expect.stringMatching(new RegExp(`^TRYAGAIN .*${last}`))
      expect(failure(error, call)).toEqual({ type: 'error', message })
      expect(failure(error, call, true)).toEqual({ type: 'error', message, resent: true })
    }
    const closed = new Error('Too many Cluster redirections. Last error: Error: Connection is closed.')
    expect(failure(closed, call)).toMatchObject({ type: 'unknown', executed: 'unknown' })
  })

  it('makes an error of whatever was thrown', () => {
    expect(failure('odd', call)).toMatchObject({ type: 'unknown', cause: { message: 'odd' } })
  })
})
