import { expect, test } from 'vitest'
import { hintFor } from './hints.ts'

test.each([
  ['cannot be used at rediss://127.0.0.1:6379: connect ETIMEDOUT', 'write redis://'],
  ['cannot be used at redis://127.0.0.1:6379: Connection is closed.', 'write rediss://'],
  ['MOVED 8 127.0.0.1:7001', 'add --cluster'],
  ["NOPERM this user has no permissions to run the 'scan' command", 'Who may do what'],
])('%s', (message, hint) => {
  expect(hintFor(message, 'ls')).toContain(hint)
  expect(hintFor('nothing known', 'ls')).toBeUndefined()
})
