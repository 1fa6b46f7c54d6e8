// Generated from ../guarded-set.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const guardedSet: Script<[memory: string, writer: string], [data: string, record: string], [fence: string, turn: string, value: string, ttl: string]> = {
  sha1: '22423ec7c437e3bcf52872c4bd8990287866529a',
  text: `local a,b=tonumber(ARGV[1]),ARGV[2]local function c(d)local e=redis.call('TYPE',d).ok;return e=='string'or e=='none'end;local function f(g,h,i,j,k,l)if not c(g)or not c(h)then return{'other'}end;local m=redis.call('GET',h)if m then local n,o,p=string.match(m,'^(%d+)%.(%x+)%.(%d+)$')if not n then return{'other'}end;if tonumber(i)<tonumber(n)then return{'fenced',n}end;if i==n and b==o and j<=tonumber(p)then return{'stored'}end end;local q=string.format('%s.%s.%.0f',i,b,j)if l<0 then redis.call('SET',h,q)redis.call('SET',g,k)else redis.call('SET',h,q,'PX',math.max(l,a))if l>0 then redis.call('SET',g,k,'PX',l)else redis.call('DEL',g)end end;return{'stored'}end;local r={}for s=1,#KEYS/2 do local i,j,k,l=unpack(ARGV,4*s-1,4*s+2)r[s]=f(KEYS[2*s-1],KEYS[2*s],i,tonumber(j),k,tonumber(l))end;return r`,
}
