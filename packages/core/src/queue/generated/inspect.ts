// Generated from ../inspect.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const inspect: Script<[], [lock: string, queue: string, waiters: string, state: string], []> = {
  sha1: 'a61b4ad0f5882444837b03ad1f68426670da70b3',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local k,m,n,p=unpack(KEYS)local d,e=1000,100;local function f()local u=b('GET',k)local g={}local h={}if type(u)=='table'then h=c(u.err,'WRONGTYPE')and b('ZRANGE',k,0,d-1,'WITHSCORES')if not h or h.err or not c(h[1],'%x%.%d+ %d+$')then return{'failed',u.err}end;u=false elseif u then g={u,1,a('PTTL',k)}end;local Y=b('HMGET',p,'kind','capacity')if Y.err then return{'failed',Y.err}end;local Z=a('TIME')local s=math.floor((Z[1]*1000000+Z[2])/1000)for i=1,#h,2 do local value,S=c(h[i],'^(.*) (%d+)$')local left=h[i+1]-s;if left>0 then g[#g+1]=value;g[#g+1]=tonumber(S)g[#g+1]=left end end;local j=a('ZRANGE',m,0,e-1,'WITHSCORES')local l={}for i=1,#j,2 do local S=c(a('HGET',n,j[i])or'','^%d+ %d+ (%d+)')l[i]=tonumber(S or 1)l[i+1]=tonumber(j[i+1])<0 and 1 or 0 end;local C=a('ZCARD',m)local w,x=Y[1]or'',tonumber(Y[2]or 0)if u or C==0 and not h[1]then w,x=u and'exclusive'or'',1 end;return{'state',w,x,g,l,C}end;return{f()}`,
}
