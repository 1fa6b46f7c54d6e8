// Generated from ../read-record.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const readRecord: Script<[], [lock: string, record: string], []> = {
  sha1: '3e9575a1a1aea95cc02346bb796f810ef8db4489',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local d,f=unpack(KEYS)local l,n=b('GET',d),b('GET',f)for E,j in ipairs({l,n})do if type(j)=='table'then return{{'failed',j.err}}end end;local e={}if l then local H,x=c(l,'^(.*)%.(%d+)$')local I,w=c(H or'','^([%w_-]+)%.(%x+)$')e={a('PTTL',d),x and#x<=128 and x or'-',I and#w==32 and I or''}end;return{{'state',n or'',a('PTTL',f),e}}`,
}
