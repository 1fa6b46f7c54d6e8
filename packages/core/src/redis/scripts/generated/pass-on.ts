// Generated from ../pass-on.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const passOn: Script<[memory: string], [lock: string, record: string], [token: string, channel: string, id: string, ttl: string, fences: string]> = {
  sha1: '8bd681ffa8d9f78dd775d0c0749b335637ab4dfe',
  text: `local c,d,e=redis.call,redis.pcall,string.match;local h=ARGV[1]local function a(p,q,b,f,r,s,t)local v,x=d('GET',p),d('GET',q)if type(v)=='table'then return{{'failed',v.err},false}end;local g=type(x)=='table'x=not g and x or''if b~=v then local i,k=e(x,'%.(%x+)%.(%a+)$')local m=i and string.find(b,i,1,true)local n=v and e(v,'^(.*)%.%d+$')==r;return{m and{k,-2}or{v and'superseded'or'gone'},n and v}end;c('DEL',p)local y,A=e(b,'(%x+)%.(%d+)$')local u=d('PUBLISH',f,'released '..A)if type(u)~='number'then u=-1 end;local w,B=e(x,'^(%x+)%.(%d+)')local C='.'..y..'.released'if u==0 and not g then local z=c('TIME')local E=math.max((B or A)+1,z[1]*1000000+z[2])local n=string.format('%s.%.0f',r,E)local l=string.format('%s.%.0f',string.sub(r,-32),E+t-1)local D=d('SET',p,n,'PX',s)if D.ok then c('SET',q,l..C,'PX',tonumber(s)>tonumber(h)and s or h)return{u,n}end end;if w==y then d('SET',q,y..'.'..B..C,'XX','KEEPTTL')end;return{u,false}end;local j={}for o=1,#KEYS/2 do local F=5*o-3;j[o]=a(KEYS[2*o-1],KEYS[2*o],ARGV[F],ARGV[F+1],ARGV[F+2],ARGV[F+3],ARGV[F+4])end;return j`,
}
