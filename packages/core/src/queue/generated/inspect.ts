// Generated from ../inspect.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const inspect: Script<[], [lock: string, queue: string, waiters: string, state: string], []> = {
  sha1: 'bc6f2eb979c1798f5f81e7dbe32490513e99eef1',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local l,n,o,q=unpack(KEYS)local d,e=1000,100;local function f()local u=b('GET',l)local g={}local h={}if type(u)=='table'then h=c(u.err,'WRONGTYPE')and b('ZRANGE',l,0,d-1,'WITHSCORES')if not h or h.err or not c(h[1],'%x%.%d+ %d+$')then return{'failed',u.err}end;u=false elseif u then g={u,1,a('PTTL',l)}end;local known=b('HMGET',q,'kind','capacity')if known.err then return{'failed',known.err}end;local X=a('TIME')local s=math.floor((X[1]*1000000+X[2])/1000)for i=1,#h,2 do local value,permits=c(h[i],'^(.*) (%d+)$')local left=h[i+1]-s;if left>0 then g[#g+1]=value;g[#g+1]=tonumber(permits)g[#g+1]=left end end;local names=a('ZRANGE',n,0,e-1,'WITHSCORES')local j={}for i=1,#names,2 do local permits=c(a('HGET',o,names[i])or'','^%d+ %d+ (%d+)')j[i]=tonumber(permits or 1)j[i+1]=tonumber(names[i+1])<0 and 1 or 0 end;local B=a('ZCARD',n)local x,y=known[1]or'',tonumber(known[2]or 0)if u or B==0 and not h[1]then x,y=u and'exclusive'or'',1 end;return{'state',x,y,g,j,B}end;return{f()}`,
}
