// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const read: Script<[], [lock: string, queue: string, state: string], [channel: string]> = {
  sha1: 'f97d864d5da3af187042b6949a2a3f7ca23ee76c',
  text: `local i,a,b,c=redis.call,redis.pcall,string.match,math.floor;local l=i('TIME')local d=c((l[1]*1000000+l[2])/1000)local function e(f,g,h,j)local k,m,n,o=a('GET',f),'exclusive',1,1;if type(k)=='table'then local p=b(k.err,'WRONGTYPE')and a('ZRANGE',f,-1,-1)if not p or p.err or not b(p[1]or'','%x%.%d+ %d+$')then return{'failed',k.err}end;o=i('ZCOUNT',f,'('..d,'+inf')k=o==1 and b(p[1],'^(.*) %d+$')or''elseif not k then k,o='',0 end;local q=a('ZCARD',g)if type(q)=='table'then return{'failed',q.err}end;if o==0 and q==0 then return{'none'}end;local r=a('HMGET',h,'kind','capacity')if not r.err and r[1]then m,n=r[1],tonumber(r[2])end;local s=a('PUBSUB','NUMSUB',j)return{'lock',m,k,n,o,i('PTTL',f),q,s.err and-1 or s[2]}end;local t={}for u=1,#ARGV do t[u]=e(KEYS[3*u-2],KEYS[3*u-1],KEYS[3*u],ARGV[u])end;return t`,
}
