import { expect, test } from 'vitest'
import { bridgeSettings } from './bridge-settings.ts'

const needed = ['--redis', 'redis://localhost', '--token', 'one']

test('flags say it all, and have defaults', () => {
  expect(bridgeSettings(needed, {})).toEqual({
    redisUrl: 'redis://localhost',
    prefix: 'lock:',
    host: '127.0.0.1',
    port: 8789,
    tokens: ['one'],
    ticketSecrets: [],
    longestTicket: '24h',
    metricsAddress: undefined,
    metricsToken: undefined,
    origins: [],
    perClient: 1_000,
    total: 10_000,
    perKey: 1_000,
    keysPerSecond: 2_000,
  })
  const more = [
    '--token',
    'two',
    '--port=0',
    '--prefix',
    'locks:',
    '--cors',
    'https://a.example',
    '--total',
    '5',
    '--per-key',
    '3',
  ]
  expect(bridgeSettings([...needed, ...more], {})).toMatchObject({
    tokens: ['one', 'two'],
    port: 0,
    prefix: 'locks:',
    origins: ['https://a.example'],
    total: 5,
    perKey: 3,
  })
})

test('the environment says it where flags do not', () => {
  const env = {
    LEASEHOLD_BRIDGE_REDIS: 'rediss://user:password@localhost:6380/1',
    LEASEHOLD_BRIDGE_TICKET_SECRETS: 'one, two',
    LEASEHOLD_BRIDGE_PORT: '80',
    LEASEHOLD_BRIDGE_HOST: '',
    LEASEHOLD_BRIDGE_PER_CLIENT: '7',
    LEASEHOLD_BRIDGE_KEYS_PER_SECOND: '100',
  }
  expect(bridgeSettings([], env)).toMatchObject({
    redisUrl: env.LEASEHOLD_BRIDGE_REDIS,
    ticketSecrets: ['one', 'two'],
    tokens: [],
    port: 80,
    host: '127.0.0.1',
    perClient: 7,
    perKey: 7,
    keysPerSecond: 100,
  })
  expect(bridgeSettings([...needed, '--port', '81'], env)).toMatchObject({ tokens: ['one'], port: 81 })
})

test.each([
  [[], /--redis or LEASEHOLD_BRIDGE_REDIS/],
  [['--redis', 'redis://localhost'], /--token or LEASEHOLD_BRIDGE_TOKENS/],
  [['--redis', 'http://:sesame@localhost', '--token', 'one'], /--redis must be a URL such as redis:/],
  [['sesame', ...needed], /an argument without its flag/],
  [['--tokens=sesame', ...needed], /Unknown option '--tokens'/],
  [[...needed, '--port', '65536'], /--port must be a whole number from 0 to 65535/],
  [[...needed, '--per-client', '0'], /--per-client/],
  [[...needed, '--total', 'many'], /--total/],
  [[...needed, '--longest-ticket', '1d'], /--longest-ticket must be a time such as 90m or 24h/],
  [[...needed, '--metrics-port', '70000'], /--metrics-port must be a whole number from 0 to 65535/],
  [[...needed, '--metrics-host', '0.0.0.0'], /--metrics-host is nothing without --metrics-port/],
  [[...needed, '--per-key', '0'], /--per-key/],
  [[...needed, '--keys-per-second', '1.5'], /--keys-per-second/],
] as const)('%j says what is wrong, and no secret', (args, problem) => {
  const run = (): unknown => bridgeSettings(args, {})
  expect(run).toThrow(problem)
  expect(run).toThrow(expect.objectContaining({ name: 'SettingsError' }))
  expect(run).not.toThrow(/sesame/)
})

test('numbers can have an address of their own, a token, or both', () => {
  const settings = (...args: string[]) => bridgeSettings([...needed, ...args], { LEASEHOLD_BRIDGE_METRICS_TOKEN: 'm' })
  expect(settings()).toMatchObject({ metricsAddress: undefined, metricsToken: 'm' })
  expect(settings('--metrics-port', '9100')).toMatchObject({
    metricsAddress: { host: '127.0.0.1', port: 9100 },
    metricsToken: 'm',
  })
  expect(settings('--metrics-port', '0', '--metrics-host', '::')).toMatchObject({
    metricsAddress: { host: '::', port: 0 },
  })
})

test('asking for help, or for the version, asks for nothing else', () => {
  expect(bridgeSettings(['--help'], {})).toBe('help')
  expect(bridgeSettings(['--version'], {})).toBe('version')
})
