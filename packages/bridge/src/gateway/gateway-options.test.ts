import { describe, expect, test } from 'vitest'
import { createGateway, type GatewayOptions, type GatewayRedis } from './index.ts'

const redis: GatewayRedis = {
  pipeline: () => expect.fail('sent something'),
  multiExec: () => expect.fail('sent something'),
  subscribe: () => expect.fail('subscribed'),
}
const token = 'test-token-4f1d-0123456789abcdef-0123456789abcdef'
const make = (options: object): unknown =>
  createGateway({ redis, tokens: [token], ...options } as unknown as GatewayOptions)

describe('an option that cannot work is refused by name', () => {
  test.each([
    ['redis', { redis: undefined }],
    ['tokens', { tokens: [] }],
    ['tokens', { tokens: token }],
    ['tokens', { tokens: [token, ''] }],
    ['tokens', { tokens: [token, 's'.repeat(31)] }],
    ['tokens', { tokens: [`sesame${token}\n`] }],
    ['tokens', { tokens: [`sesame ${token}`] }],
    ['tokens', { tokens: [`sesame${token}ü`] }],
    ['commands', { commands: ['GET', ''] }],
    ['commands', { commands: ['GET *'] }],
    ['commands', { commands: ['multi'] }],
    ['commands', { commands: ['BLPOP'] }],
    ['commands', { commands: ['script debug'] }],
    ['commands', { commands: ['client list'] }],
    ['commands', { commands: ['MULTI EXEC'] }],
    ['deadlineMs', { deadlineMs: 0 }],
    ['deadlineMs', { deadlineMs: Number.POSITIVE_INFINITY }],
    ['maxBodyBytes', { maxBodyBytes: 1.5 }],
    ['maxPipeline', { maxPipeline: Number.NaN }],
    ['maxReplyBytes', { maxReplyBytes: 0 }],
    ['maxStreams', { maxStreams: -1 }],
    ['maxStreamsPerToken', { maxStreamsPerToken: 0 }],
    ['heartbeatMs', { heartbeatMs: 15_001 }],
  ])('%s: %j', (option, options) => {
    expect(() => make(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option }))
    expect(() => make(options)).not.toThrow(/sesame|sss/)
  })
})

test('making one asks Redis for nothing', () => {
  expect(make({})).toHaveProperty('fetch')
})
