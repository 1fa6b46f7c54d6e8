import { expect, it } from 'vitest'
import { withoutArguments } from './error-text.ts'

const token = '0123456789abcdef0123456789abcdef.1700000000000000'
const call = { command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args: [token, '10000'] } as const

it('leaves out the arguments that may be secret, wherever a message has them, and keeps numbers', () => {
  expect(withoutArguments(`Gave up on ${token} after 10000 ms, ${token}`, call)).toBe(
    'Gave up on (argument) after 10000 ms, (argument)',
  )
})

it('ends a server’s message where it begins to quote arguments', () => {
  const message = `ERR unknown command 'evalsha', with args beginning with: 'ffff' '1' 'lock:a' '${token}' `
  expect(withoutArguments(message, call)).toBe("ERR unknown command 'evalsha'")
})
