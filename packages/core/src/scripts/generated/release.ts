// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const release: Script<[word: string], [lock: string, record: string], [token: string, channel: string]> = {
  sha1: 'c4b282adf8c06cfa167d5179f17c6a48f2554e3e',
  text: `local a=ARGV[1]local function b(c,d,e,f)local g=redis.pcall('GET',c)local h=type(g)=='table'if h then g=g.err end;local i,j=string.match(g or'','^(.*)%.(%d+)$')local k=tostring(redis.pcall('GET',d))if not g or e~=g and e~=i then local l,m=string.match(k,'%.(%x+)%.(%a+)$')if l and string.find(e,l,1,true)then return{m,-2}end;if h then return{'failed',g}end;return{g and'superseded'or'gone'}end;redis.call('DEL',c)local n,o=string.match(k,'^((%x+)%.%d+)')if i and o==string.sub(i,-32)then redis.pcall('SET',d,n..'.'..o..'.'..a,'XX','KEEPTTL')end;local p=redis.pcall('PUBLISH',f,a..' '..(j or'-'))return{a,type(p)=='number'and p or-1}end;local q={}for r=1,#KEYS/2 do q[r]=b(KEYS[2*r-1],KEYS[2*r],ARGV[2*r],ARGV[2*r+1])end;return q`,
}
