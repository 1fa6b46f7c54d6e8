// Generated from ../acquire.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const acquire: Script<[memory: string], [lock: string, record: string], [id: string, ttl: string, fences: string]> = {
  sha1: '1432e669ae00ad3e9153a8e8f12eedceac1bb8b5',
  text: `local a=tonumber(ARGV[1])local function b(c,d,e,f,g)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;if h then local i,j=string.match(h,'^(.*)%.(%d+)$')local k=redis.call('PTTL',c)if e~=i then return{'held',k,j and#j<=128 and j or'-'}end;if f>k then redis.call('PEXPIRE',c,f)redis.call('PEXPIRE',d,math.max(f,a))end;return{'granted',h}end;local l=redis.pcall('GET',d)if type(l)=='table'then return{'failed',l.err}end;local m=string.sub(e,-32)local n,o,p=string.match(l or'','^(%x+)%.(%d+)(.*)$')if n==m then return{'spent'}end;local q=redis.call('TIME')local r=q[1]*1000000+q[2]local s=math.max((o or 0)+1,r)local t=string.format('%s.%.0f',e,s)local u=string.format('%s.%.0f%s',m,s+g-1,p or'')redis.call('SET',c,t,'PX',f)redis.call('SET',d,u,'PX',math.max(f,a))return{'granted',t}end;local v={}for w=1,#KEYS/2 do v[w]=b(KEYS[2*w-1],KEYS[2*w],ARGV[3*w-1],tonumber(ARGV[3*w]),ARGV[3*w+1])end;return v`,
}
