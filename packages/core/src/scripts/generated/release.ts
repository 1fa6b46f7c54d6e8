// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const release: Script<[word: string], [lock: string, record: string], [token: string, channel: string]> = {
  sha1: '6f8ca887c2c77160dbec3c3e40bb014ecc16a837',
  text: `local y=ARGV[1]local function z(c,d,t,A)local h=redis.pcall('GET',c)local B=type(h)=='table'if B then h=h.err end;local e,s=string.match(h or'','^(.*)%.(%d+)$')local l=tostring(redis.pcall('GET',d))if not h or t~=h and t~=e then local C,D=string.match(l,'%.(%x+)%.(%a+)$')if C and string.find(t,C,1,true)then return{D,-2}end;if B then return{'failed',h}end;return{h and'superseded'or'gone'}end;redis.call('DEL',c)local E,m=string.match(l,'^((%x+)%.%d+)')if e and m==string.sub(e,-32)then redis.pcall('SET',d,E..'.'..m..'.'..y,'XX','KEEPTTL')end;local F=redis.pcall('PUBLISH',A,y..' '..(s or'-'))return{y,type(F)=='number'and F or-1}end;local v={}for w=1,#KEYS/2 do v[w]=z(KEYS[2*w-1],KEYS[2*w],ARGV[2*w],ARGV[2*w+1])end;return v`,
}
