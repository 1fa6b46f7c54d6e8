// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const release: Script<[word: string], [lock: string, record: string], [token: string, channel: string]> = {
  sha1: '109bdc0a48aa71a52b3773e0c0b6883e9068ed55',
  text: `local a=ARGV[1]local function b(c,d,t,f)local h=redis.pcall('GET',c)local g=type(h)=='table'if g then h=h.err end;local e,s=string.match(h or'','^(.*)%.(%d+)$')local l=tostring(redis.pcall('GET',d))if not h or t~=h and t~=e then local i,j=string.match(l,'%.(%x+)%.(%a+)$')if i and string.find(t,i,1,true)then return{j,-2}end;if g then return{'failed',h}end;return{h and'superseded'or'gone'}end;redis.call('DEL',c)local k,m=string.match(l,'^((%x+)%.%d+)')if e and m==string.sub(e,-32)then redis.pcall('SET',d,k..'.'..m..'.'..a,'XX','KEEPTTL')end;local n=redis.pcall('PUBLISH',f,a..' '..(s and#s<=128 and s or'-'))return{a,type(n)=='number'and n or-1}end;local v={}for w=1,#KEYS/2 do v[w]=b(KEYS[2*w-1],KEYS[2*w],ARGV[2*w],ARGV[2*w+1])end;return v`,
}
