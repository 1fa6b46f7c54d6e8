// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const release: Script<[word: string], [lock: string, record: string], [token: string, channel: string]> = {
  sha1: 'b195e80dfe1d90c0eb8192a58473ad1db9411b49',
  text: `local a=ARGV[1]local function b(c,d,u,f)local h=redis.pcall('GET',c)local g=type(h)=='table'if g then h=h.err end;local e,t=string.match(h or'','^(.*)%.(%d+)$')local n=tostring(redis.pcall('GET',d))if not h or u~=h and u~=e then local i,j=string.match(n,'%.(%x+)%.(%a+)$')if i and string.find(u,i,1,true)then return{j,-2}end;if g then return{'failed',h}end;return{h and'superseded'or'gone'}end;redis.call('DEL',c)local k,m=string.match(n,'^((%x+)%.%d+)')if e and m==string.sub(e,-32)then redis.pcall('SET',d,k..'.'..m..'.'..a,'XX','KEEPTTL')end;local l=redis.pcall('PUBLISH',f,a..' '..(t and#t<=128 and t or'-'))return{a,type(l)=='number'and l or-1}end;local w={}for x=1,#KEYS/2 do w[x]=b(KEYS[2*x-1],KEYS[2*x],ARGV[2*x],ARGV[2*x+1])end;return w`,
}
