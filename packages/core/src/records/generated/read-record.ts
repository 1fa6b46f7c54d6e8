// Generated from ../read-record.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const readRecord: Script<[], [lock: string, record: string], []> = {
  sha1: '5fa9002280c5ab600dcf9a7b5ad9bcd6a90f6fc3',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local d,f=unpack(KEYS)local l,n=b('GET',d),b('GET',f)for B,j in ipairs({l,n})do if type(j)=='table'then return{{'failed',j.err}}end end;local e={}if l then local G,v=c(l,'^(.*)%.(%d+)$')local H,u=c(G or'','^([%w_-]+)%.(%x+)$')e={a('PTTL',d),v and#v<=128 and v or'-',H and#u==32 and H or''}end;return{{'state',n or'',a('PTTL',f),e}}`,
}
