// Generated from ../resume.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const resume: Script<[memory: string], [lock: string, record: string], [token: string, fence: string, id: string, ttl: string]> = {
  sha1: 'd6e93e2916968c209679e124d96e35f790c669f5',
  text: `local a,b,c,d=redis.call,redis.pcall,string.match,string.sub;local e,f=unpack(KEYS)local g,h,i,j,k=unpack(ARGV)local function l()local m,n=b('GET',e),b('GET',f)for o,p in ipairs({m,n})do if type(p)=='table'then return{'failed',p.err}end end;local q=d(j,-32)local r,s,t=c(n or'','^(%x+)%.(%d+)(.*)$')local u=m and c(m,'^(.*)%.%d+$')==j;if not u then if r==q then return{'spent'}end;if m~=h then local v=not r or r==c(h,'(%x+)%.%d+$')return{(m or not v)and'superseded'or'gone'}end end;local w=math.max(tonumber(k),a('PTTL',e))local x=math.max(w,tonumber(g))a('PEXPIRE',e,w)if u then if x>a('PTTL',f)then a('PEXPIRE',f,x)end;return m end;local y=a('TIME')local z=math.max((s or 0)+1,i+1,y[1]*1000000+y[2])local A=string.format('%.0f',z)local B=j..'.'..A;a('SET',e,B,'PX',w)a('SET',f,q..'.'..A..(t or''),'PX',x)return B end;return{l()}`,
}
