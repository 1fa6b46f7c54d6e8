import type { ScriptCall } from '@leasehold/core/redis'
import { describe, expect, it } from 'vitest'
import { withoutSecrets } from './secrets.ts'

const access = 'AX0tokenOfTheDatabase'
const lease = 'orders-7.0123456789abcdef0123456789abcdef.1700000000000000'
const call = (...args: string[]): ScriptCall => ({ command: 'EVALSHA', body: 'f'.repeat(40), keys: ['lock:a'], args })
const clean = (text: string): string => withoutSecrets(text, access, [call('600000'), call(lease, '10000')])

describe('withoutSecrets', () => {
  it('keeps a text without any', () => {
    expect(clean('NOSCRIPT No matching script. Please use EVAL.')).toBe('NOSCRIPT No matching script. Please use EVAL.')
    expect(clean('ERR value 10000 is not a ttl')).toBe('ERR value 10000 is not a ttl')
  })

  it('ends it where an argument begins, even one that is quoted in part', () => {
    expect(clean(`ERR wrong: ["EVALSHA","${lease}","10000"]`)).toBe('ERR wrong: ["EVALSHA","')
    expect(clean(`ERR wrong: ${lease.slice(0, 20)}...`)).toBe('ERR wrong: ')
  })

  it('ends it where the access token begins', () => {
    expect(clean(`WRONGPASS ${access} is not valid`)).toBe('WRONGPASS ')
  })

  it('ends it where Redis begins to quote arguments', () => {
    expect(clean("ERR unknown command 'evalsha', with args beginning with: 'ffff' '1' \n'01234'")).toBe(
      "ERR unknown command 'evalsha'",
    )
  })
})
