// Generated from ../acquire.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const acquire: Script<[memory: string], [lock: string, record: string], [owner: string, ttl: string, fences: string]> = {
  sha1: '89fbd807c215d0bb423362fc40592f42cede47ee',
  text: `local a=tonumber(ARGV[1])local function b(c,d,e,f,g)local h=redis.pcall('GET',c)if type(h)=='table'then return{'other'}end;if h then local i,j=string.match(h,'^(.*)%.(%d+)$')local k=redis.call('PTTL',c)if e~=i then return{'held',k,j or'-'}end;if f>k then redis.call('PEXPIRE',c,f)redis.call('PEXPIRE',d,math.max(f,a))end;return{'granted',h}end;local l=string.sub(e,-32)local m,n=string.match(redis.call('GET',d)or'','^(.*)%.(%d+)$')if m==l then return{'spent'}end;local o=redis.call('TIME')local p=o[1]*1000000+o[2]local q=math.max((n or 0)+1,p)local r=string.format('%s.%.0f',e,q)redis.call('SET',c,r,'PX',f)redis.call('SET',d,string.format('%s.%.0f',l,q+g-1),'PX',math.max(f,a))return{'granted',r}end;local s={}for t=1,#KEYS/2 do local e,f,g=ARGV[3*t-1],tonumber(ARGV[3*t]),tonumber(ARGV[3*t+1])s[t]=b(KEYS[2*t-1],KEYS[2*t],e,f,g)end;return s`,
}
