// Generated from ../inspect.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const inspect: Script<[], [lock: string, queue: string, waiters: string, state: string], []> = {
  sha1: 'c6da854d7b24ea07669418c70994e3a7ca23da63',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local j,l,m,o=unpack(KEYS)local d,e=1000,100;local function f()local t=b('GET',j)local g={}local h={}if type(t)=='table'then h=c(t.err,'WRONGTYPE')and b('ZRANGE',j,0,d-1,'WITHSCORES')if not h or h.err or not c(h[1],'^%d+ .*%x+%.%d+$')then return{'failed',t.err}end;t=false elseif t then g={t,1,a('PTTL',j)}end;local X=b('HMGET',o,'kind','capacity')if X.err then return{'failed',X.err}end;local Y=a('TIME')local r=math.floor((Y[1]*1000000+Y[2])/1000)for i=1,#h,2 do local Q,value=c(h[i],'^(%d+) (.*)$')local left=h[i+1]-r;if left>0 then g[#g+1]=value;g[#g+1]=tonumber(Q)g[#g+1]=left end end;local k=a('ZRANGE',l,0,e-1,'WITHSCORES')local n={}for i=1,#k,2 do local Q=c(a('HGET',m,k[i])or'','^%d+ %d+ (%d+)')n[i]=tonumber(Q or 1)n[i+1]=tonumber(k[i+1])<0 and 1 or 0 end;local B=a('ZCARD',l)local v,w=X[1]or'',tonumber(X[2]or 0)if t or B==0 and not h[1]then v,w=t and'exclusive'or'',1 end;return{'state',v,w,g,n,B}end;return{f()}`,
}
