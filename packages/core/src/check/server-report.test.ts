import { describe, expect, it } from 'vitest'
import { parseServerReport } from './server-report.ts'
import { serverFindings } from './server-rules.ts'

/* Excerpts of what servers of other versions and vendors report. They are texts because no such server runs here. */

const redis5 = `# Server\r\nredis_version:5.0.14\r\nredis_mode:standalone\r\n\r\n# Memory\r\nused_memory:853464\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n\r\n# Persistence\r\nloading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\n\r\n# Stats\r\nevicted_keys:0\r\n\r\n# Replication\r\nrole:master\r\n`
const redis60 = redis5.replace('5.0.14', '6.0.16')
const redis62 = redis5.replace('5.0.14', '6.2.14')
const valkey8 = redis5.replace(
  'redis_version:5.0.14',
  'redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1',
)
const dragonfly = redis5.replace('redis_version:5.0.14', 'redis_version:7.2.0\r\ndragonfly_version:df-v1.23.0')
const redis10 = redis5.replace('5.0.14', '10.0.0')

const codes = (info: string): readonly string[] =>
  serverFindings(parseServerReport(info), { save: undefined }).map(({ code }) => code)

describe('the report of a server', () => {
  it.each([
    ['Redis 5.0', redis5],
    ['Redis 6.0', redis60],
  ])('%s is too old', (_, info) => {
    expect(codes(info)).toEqual(['TOO_OLD'])
  })

  it.each([
    ['Redis 6.2', redis62],
    ['Redis 10', redis10],
    ['Valkey 8', valkey8],
    ['Dragonfly', dragonfly],
  ])('%s is new enough', (_, info) => {
    expect(codes(info)).toEqual([])
  })

  it('has the name and version of the product, and the version of Redis that it is like', () => {
    expect(parseServerReport(valkey8)).toMatchObject({ product: 'valkey', version: '8.0.1', redisVersion: '7.2.4' })
    expect(parseServerReport(dragonfly)).toMatchObject({ product: 'dragonfly', version: 'df-v1.23.0' })
  })

  it('may lack what it likes, and then nothing is said of that', () => {
    const nothing = parseServerReport('# Server\nuptime_in_seconds:5')
    expect(nothing).toMatchObject({ version: null, role: null, evictionPolicy: null, appendOnly: null })
    expect(serverFindings(nothing, { save: undefined })).toEqual([])
  })

  it('says when it is loading, and when its disk fails', () => {
    expect(codes(redis62.replace('loading:0', 'loading:1'))).toEqual(['NOT_READY'])
    expect(codes(redis62.replace('write_status:ok', 'write_status:err'))).toEqual(['DISK_FAILS'])
  })
})
