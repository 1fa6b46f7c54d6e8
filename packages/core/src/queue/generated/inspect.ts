// Generated from ../inspect.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const inspect: Script<[], [lock: string, queue: string, waiters: string, state: string], []> = {
  sha1: '0c6bc0d276a494e6409bf954306e15bcc376c459',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local l,n,o,q=unpack(KEYS)local d,e=1000,100;local function f()local g=b('GET',l)local h={}local i={}if type(g)=='table'then i=c(g.err,'WRONGTYPE')and b('ZRANGE',l,0,d-1,'WITHSCORES')if not i or i.err or not c(i[1],'%x%.%d+ %d+$')then return{'failed',g.err}end;g=false elseif g then h={g,1,a('PTTL',l)}end;local F=b('HMGET',q,'kind','capacity')if F.err then return{'failed',F.err}end;local w=a('TIME')local j=math.floor((w[1]*1000000+w[2])/1000)for S=1,#i,2 do local value,B=c(i[S],'^(.*) (%d+)$')local left=i[S+1]-j;if left>0 then h[#h+1]=value;h[#h+1]=tonumber(B)h[#h+1]=left end end;local Q=a('ZRANGE',n,0,e-1,'WITHSCORES')local k={}for S=1,#Q,2 do local B=c(a('HGET',o,Q[S])or'','^%d+ %d+ (%d+)')k[S]=tonumber(B or 1)k[S+1]=tonumber(Q[S+1])<0 and 1 or 0 end;local m=a('ZCARD',n)local p,r=F[1]or'',tonumber(F[2]or 0)if g or m==0 and not i[1]then p,r=g and'exclusive'or'',1 end;return{'state',p,r,h,k,m}end;return{f()}`,
}
