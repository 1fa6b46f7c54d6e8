import { expect, test } from 'vitest'
import { type GatewaySettings, gatewaySettings } from './gateway-settings.ts'

const needed = ['--redis', 'redis://localhost', '--token', 'one']

const settingsOf = (args: readonly string[], env: Record<string, string>): GatewaySettings =>
  gatewaySettings(args, env) as GatewaySettings

test('flags say it all, and have defaults', () => {
  expect(gatewaySettings(needed, {})).toMatchObject({
    redisUrl: 'redis://localhost',
    tokens: ['one'],
    host: '127.0.0.1',
    port: 8790,
    deadlineMs: 5_000,
    maxBodyBytes: 1_048_576,
    maxReplyBytes: 16_777_216,
    maxStreams: 1_000,
    allowed: [],
  })
  expect(settingsOf(needed, {})).not.toHaveProperty('maxStreamsPerToken')
  const more = ['--token', 'two', '--port=0', '--host', '::1', '--allow', 'KEYS', '--allow=INFO', '--deadline', '100']
  const most = ['--max-body', '1', '--max-reply', '65536', '--max-streams', '3', '--max-streams-per-token', '4']
  const settings = settingsOf([...needed, ...more, ...most], {})
  expect(settings).toMatchObject({ tokens: ['one', 'two'], port: 0, host: '::1', deadlineMs: 100 })
  expect(settings).toMatchObject({ maxBodyBytes: 1, maxReplyBytes: 65_536, maxStreams: 3, maxStreamsPerToken: 4 })
  expect(settings.allowed).toEqual(['KEYS', 'INFO'])
  expect(settings.commands.slice(-2)).toEqual(['KEYS', 'INFO'])
})

test('the environment says it where flags do not', () => {
  const env = {
    LEASEHOLD_GATEWAY_REDIS: 'rediss://user:password@localhost:6380/1',
    LEASEHOLD_GATEWAY_TOKENS: 'one, two',
    LEASEHOLD_GATEWAY_PORT: '80',
    LEASEHOLD_GATEWAY_HOST: '',
    LEASEHOLD_GATEWAY_ALLOW: 'KEYS,CONFIG GET',
    LEASEHOLD_GATEWAY_MAX_REPLY: '100000',
    LEASEHOLD_GATEWAY_MAX_STREAMS: '10',
    LEASEHOLD_GATEWAY_MAX_STREAMS_PER_TOKEN: '5',
  }
  expect(gatewaySettings([], env)).toMatchObject({
    redisUrl: env.LEASEHOLD_GATEWAY_REDIS,
    tokens: ['one', 'two'],
    port: 80,
    maxReplyBytes: 100_000,
    maxStreams: 10,
    maxStreamsPerToken: 5,
  })
  expect(settingsOf([], env).commands.slice(-2)).toEqual(['KEYS', 'CONFIG GET'])
  expect(settingsOf([], env).host).toBe('127.0.0.1')
  expect(gatewaySettings([...needed, '--port', '81'], env)).toMatchObject({ tokens: ['one'], port: 81 })
})

test.each([
  [[], /--redis or LEASEHOLD_GATEWAY_REDIS/],
  [['--redis', 'redis://localhost'], /--token or LEASEHOLD_GATEWAY_TOKENS/],
  [['--redis', 'http://:sesame@localhost', '--token', 'one'], /--redis must be a URL such as redis:/],
  [['--redis', 'sesame', '--token', 'one'], /--redis must be a URL/],
  [['sesame', ...needed], /an argument without its flag/],
  [['--tokens=sesame', ...needed], /Unknown option '--tokens'/],
  [[...needed, '--port', '65536'], /--port must be a whole number from 0 to 65535/],
  [[...needed, '--port', '1e3'], /--port/],
  [[...needed, '--deadline', '5s'], /--deadline/],
  [[...needed, '--max-body', '0'], /--max-body/],
  [[...needed, '--max-reply', '16MiB'], /--max-reply/],
  [[...needed, '--max-streams', '-1'], /--max-streams/],
  [[...needed, '--max-streams-per-token', '0'], /--max-streams-per-token/],
  [[...needed, '--allow', 'MULTI'], /"--allow" cannot have MULTI/],
  [[...needed, '--allow', 'client list'], /"--allow" cannot have CLIENT LIST/],
  [[...needed, '--allow', 'sesame *'], /"--allow" must be names of commands/],
] as const)('%j says what is wrong, and no secret', (args, problem) => {
  const run = (): unknown => gatewaySettings(args, {})
  expect(run).toThrow(problem)
  expect(run).toThrow(expect.objectContaining({ name: 'SettingsError' }))
  expect(run).not.toThrow(/sesame/)
})

test('asking for help, or for the version, asks for nothing else', () => {
  expect(gatewaySettings(['--help'], {})).toBe('help')
  expect(gatewaySettings(['--version'], {})).toBe('version')
})
