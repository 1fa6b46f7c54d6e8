import { expect, test } from 'vitest'
import { connectionSettings, shownUrl, withoutSecrets } from './settings.ts'

const password = 'p@ss w0rd'
const encoded = encodeURIComponent(password)

test('flags come first, then the variables of this program, and then those of the bridge and the gateway', () => {
  const env = {
    LEASEHOLD_BRIDGE_REDIS: 'https://bridge.example',
    LEASEHOLD_BRIDGE_PREFIX: 'bridge:',
    LEASEHOLD_GATEWAY_TOKENS: 'a, b',
  }
  expect(connectionSettings({}, env)).toMatchObject({ url: 'https://bridge.example', prefix: 'bridge:', token: 'a' })
  const own = { ...env, LEASEHOLD_REDIS: 'redis://own.example', LEASEHOLD_PREFIX: 'own:' }
  expect(connectionSettings({}, own)).toMatchObject({ url: 'redis://own.example', prefix: 'own:', token: undefined })
  expect(connectionSettings({ redis: 'redis://flag.example', prefix: 'flag:' }, own)).toMatchObject({
    ...{ url: 'redis://flag.example', prefix: 'flag:' },
  })
})

test('a URL is shown by its host alone', () => {
  expect(shownUrl({ url: `rediss://user:${encoded}@redis.example:6380/2?token=x` })).toBe('rediss://redis.example:6380')
})

test('a password is hidden in any text, as it is written and as it is meant, and so is a token', () => {
  const settings = connectionSettings({ redis: `redis://user:${encoded}@redis.example`, token: 'unused' }, {})
  const text = `cannot use redis://user:${encoded}@redis.example: ${password} and ${encoded}`
  expect(withoutSecrets(text, settings)).toBe('cannot use ***: *** and ***')
  const http = connectionSettings({ redis: 'https://redis.example', token: 'a-token' }, {})
  expect(withoutSecrets('Bearer a-token at https://redis.example', http)).toBe('Bearer *** at https://redis.example')
  const open = connectionSettings({ redis: 'redis://redis.example' }, {})
  expect(withoutSecrets('redis://redis.example is away', open)).toBe('redis://redis.example is away')
})
