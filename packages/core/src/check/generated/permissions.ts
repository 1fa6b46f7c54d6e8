// Generated from ../permissions.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const permissions: Script<[], [text: string, hash: string, order: string], [channel: string]> = {
  sha1: '4d54dc547d04d2d708dfac13a727b3911f88138b',
  text: `local function a(b,...)local f=redis.pcall(...)if type(f)=='table'and f.err then b[#b+1]=string.lower(...)b[#b+1]=f.err end end;local function c(d,e,g,h)local b={'tried'}a(b,'TIME')a(b,'SET',d,'1','PX','1000')a(b,'GET',d)a(b,'MGET',d)a(b,'PTTL',d)a(b,'PEXPIRE',d,'1000')a(b,'PUBLISH',h,'released -')a(b,'PUBSUB','NUMSUB',h)a(b,'HSET',e,'a','1')redis.pcall('PEXPIRE',e,'1000')a(b,'HGET',e,'a')a(b,'HMGET',e,'a')a(b,'HDEL',e,'a')a(b,'ZADD',g,'1','a')redis.pcall('PEXPIRE',g,'1000')a(b,'ZCARD',g)a(b,'ZSCORE',g,'a')a(b,'ZMSCORE',g,'a')a(b,'ZRANK',g,'a')a(b,'ZRANGE',g,'0','0')a(b,'ZRANGEBYSCORE',g,'1','1')a(b,'ZREM',g,'a')a(b,'DEL',d,e,g)return b end;local i={}for j=1,#KEYS/3 do i[j]=c(KEYS[3*j-2],KEYS[3*j-1],KEYS[3*j],ARGV[j])end;return i`,
}
