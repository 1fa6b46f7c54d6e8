// Generated from ../acquire.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const acquire: Script<[memory: string], [lock: string, record: string], [id: string, ttl: string, fences: string]> = {
  sha1: '6f525142ddba381cc26d8663fc4aeb3730afc2b0',
  text: `local a=tonumber(ARGV[1])local function b(c,d,e,f,g)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;if h then local i,j=string.match(h,'^(.*)%.(%d+)$')local k=redis.call('PTTL',c)if e~=i then local l,m=string.match(i or'','^([%w_-]+)%.(%x+)$')return{'held',k,j and#j<=128 and j or'-',l and#m==32 and l or''}end;if f>k then redis.call('PEXPIRE',c,f)redis.call('PEXPIRE',d,math.max(f,a))end;return{'granted',h}end;local n=redis.pcall('GET',d)if type(n)=='table'then return{'failed',n.err}end;local m=string.sub(e,-32)local o,p,q=string.match(n or'','^(%x+)%.(%d+)(.*)$')if o==m then return{'spent'}end;local r=redis.call('TIME')local s=r[1]*1000000+r[2]local t=math.max((p or 0)+1,s)local u=string.format('%s.%.0f',e,t)local v=string.format('%s.%.0f%s',m,t+g-1,q or'')redis.call('SET',c,u,'PX',f)redis.call('SET',d,v,'PX',math.max(f,a))return{'granted',u}end;local w={}for x=1,#KEYS/2 do w[x]=b(KEYS[2*x-1],KEYS[2*x],ARGV[3*x-1],tonumber(ARGV[3*x]),ARGV[3*x+1])end;return w`,
}
