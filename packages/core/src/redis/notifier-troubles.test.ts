import { beforeEach, describe, expect, it } from 'vitest'
import { NotifierTroubles } from './notifier-troubles.ts'

let troubles: NotifierTroubles
let told: string[]
beforeEach(() => {
  troubles = new NotifierTroubles()
  told = []
  troubles.onStateChange((state) => told.push(state.type === 'disconnected' ? String(state.cause) : state.type))
})

describe('a connection that fails', () => {
  it('is told once, however often it fails for the same reason', () => {
    for (let attempt = 0; attempt < 5; attempt++) troubles.begin('connection', new Error('ECONNREFUSED'))
    expect(told).toEqual(['Error: ECONNREFUSED'])
  })

  it('is told again when the reason changes: an outage may end in a wrong password', () => {
    troubles.begin('connection', new Error('ECONNREFUSED'))
    troubles.begin('connection', new Error('WRONGPASS'))
    troubles.end('connection')
    expect(told).toEqual(['Error: ECONNREFUSED', 'Error: WRONGPASS', 'reconnected'])
  })
})

it('releases are heard again only when every trouble is over', () => {
  troubles.begin('connection', new Error('ECONNREFUSED'))
  troubles.begin('refusal', new Error('NOPERM'), 'channel')
  troubles.end('connection')
  expect(told.at(-1)).not.toBe('reconnected')
  troubles.end('refusal', 'channel')
  expect(told.at(-1)).toBe('reconnected')
})
