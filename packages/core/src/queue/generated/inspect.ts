// Generated from ../inspect.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const inspect: Script<[], [lock: string, queue: string, waiters: string, state: string], []> = {
  sha1: 'eb7647edb40dbbb0fcce03d7b088c7802b030820',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local l,n,o,q=unpack(KEYS)local d,e=1000,100;local function f()local v=b('GET',l)local g={}local h={}if type(v)=='table'then h=c(v.err,'WRONGTYPE')and b('ZRANGE',l,0,d-1,'WITHSCORES')if not h or h.err or not c(h[1],'%x%.%d+ %d+$')then return{'failed',v.err}end;v=false elseif v then g={v,1,a('PTTL',l)}end;local known=b('HMGET',q,'kind','capacity')if known.err then return{'failed',known.err}end;local time=a('TIME')local t=math.floor((time[1]*1000000+time[2])/1000)for i=1,#h,2 do local value,X=c(h[i],'^(.*) (%d+)$')local left=h[i+1]-t;if left>0 then g[#g+1]=value;g[#g+1]=tonumber(X)g[#g+1]=left end end;local names=a('ZRANGE',n,0,e-1,'WITHSCORES')local j={}for i=1,#names,2 do local X=c(a('HGET',o,names[i])or'','^%d+ %d+ (%d+)')j[i]=tonumber(X or 1)j[i+1]=tonumber(names[i+1])<0 and 1 or 0 end;local B=a('ZCARD',n)local x,y=known[1]or'',tonumber(known[2]or 0)if v or B==0 and not h[1]then x,y=v and'exclusive'or'',1 end;return{'state',x,y,g,j,B}end;return{f()}`,
}
