// Generated from ../inspect.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const inspect: Script<[], [lock: string, queue: string, waiters: string, state: string], []> = {
  sha1: 'a34f827ee87dc3a61fb3c4aa32c9f7a2f9dac722',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local l,n,o,q=unpack(KEYS)local d,e=1000,100;local function f()local g=b('GET',l)local h={}local i={}if type(g)=='table'then i=c(g.err,'WRONGTYPE')and b('ZRANGE',l,0,d-1,'WITHSCORES')if not i or i.err or not c(i[1],'%x%.%d+ %d+$')then return{'failed',g.err}end;g=false elseif g then h={g,1,a('PTTL',l)}end;local known=b('HMGET',q,'kind','capacity')if known.err then return{'failed',known.err}end;local time=a('TIME')local j=math.floor((time[1]*1000000+time[2])/1000)for R=1,#i,2 do local value,T=c(i[R],'^(.*) (%d+)$')local left=i[R+1]-j;if left>0 then h[#h+1]=value;h[#h+1]=tonumber(T)h[#h+1]=left end end;local P=a('ZRANGE',n,0,e-1,'WITHSCORES')local k={}for R=1,#P,2 do local T=c(a('HGET',o,P[R])or'','^%d+ %d+ (%d+)')k[R]=tonumber(T or 1)k[R+1]=tonumber(P[R+1])<0 and 1 or 0 end;local m=a('ZCARD',n)local p,r=known[1]or'',tonumber(known[2]or 0)if g or m==0 and not i[1]then p,r=g and'exclusive'or'',1 end;return{'state',p,r,h,k,m}end;return{f()}`,
}
