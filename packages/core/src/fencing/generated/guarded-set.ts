// Generated from ../guarded-set.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const guardedSet: Script<[memory: string, writer: string], [data: string, record: string], [fence: string, turn: string, value: string, ttl: string]> = {
  sha1: '4f37edb80abbf2881b4c37432dbd307238b0fb5c',
  text: `local a,e=tonumber(ARGV[1]),ARGV[2]local function b(c)local d=redis.call('TYPE',c).ok;return d=='string'or d=='none'end;local function k(f,g,h,l,m,p)if not b(f)or not b(g)then return{'other'}end;local i=redis.call('GET',g)if i then local j,q,r=string.match(i,'^(%d+)%.(%x+)%.(%d+)$')if not j then return{'other'}end;if tonumber(h)<tonumber(j)then return{'fenced',j}end;if h==j and e==q and l<=tonumber(r)then return{'stored'}end end;local s=string.format('%s.%s.%.0f',h,e,l)if p<0 then redis.call('SET',g,s)redis.call('SET',f,m)else redis.call('SET',g,s,'PX',math.max(p,a))if p>0 then redis.call('SET',f,m,'PX',p)else redis.call('DEL',f)end end;return{'stored'}end;local n={}for o=1,#KEYS/2 do local h,l,m,p=unpack(ARGV,4*o-1,4*o+2)n[o]=k(KEYS[2*o-1],KEYS[2*o],h,tonumber(l),m,tonumber(p))end;return n`,
}
