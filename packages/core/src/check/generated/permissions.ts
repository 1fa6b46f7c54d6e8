// Generated from ../permissions.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const permissions: Script<[], [text: string, hash: string, order: string], [channel: string]> = {
  sha1: 'df4b9937bd9357bf446e8af199f3aa7f501f329c',
  text: `local function a(b,...)local c=redis.pcall(...)if type(c)=='table'and c.err then b[#b+1]=string.lower(...)b[#b+1]=c.err end end;local function d(e,f,g,h)local b={'tried'}a(b,'TIME')a(b,'SET',e,'1','PX','1000')a(b,'GET',e)a(b,'MGET',e)a(b,'PTTL',e)a(b,'PEXPIRE',e,'1000')a(b,'PUBLISH',h,'released -')a(b,'PUBSUB','NUMSUB',h)a(b,'HSET',f,'a','1')redis.pcall('PEXPIRE',f,'1000')a(b,'HGET',f,'a')a(b,'HMGET',f,'a')a(b,'HDEL',f,'a')a(b,'ZADD',g,'1','a')redis.pcall('PEXPIRE',g,'1000')a(b,'ZCARD',g)a(b,'ZSCORE',g,'a')a(b,'ZMSCORE',g,'a')a(b,'ZRANK',g,'a')a(b,'ZRANGE',g,'0','0')a(b,'ZRANGEBYSCORE',g,'1','1')a(b,'ZREM',g,'a')a(b,'DEL',e,f,g)return b end;local i={}for j=1,#KEYS/3 do i[j]=d(KEYS[3*j-2],KEYS[3*j-1],KEYS[3*j],ARGV[j])end;return i`,
}
