// Generated from ../guarded-get.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const guardedGet: Script<[memory: string], [data: string, record: string], [fence: string]> = {
  sha1: '92a927ce56e7abda48ec3c86eb4fc4cbc5646717',
  text: `local a=tonumber(ARGV[1])local function b(c)local d=redis.call('TYPE',c).ok;return d=='string'or d=='none'end;local function e(f,g,h)if not b(f)or not b(g)then return{'other'}end;local i=redis.call('GET',g)local j=i and string.match(i,'^(%d+)%.%x+%.%d+$')if i and not j then return{'other'}end;if j and tonumber(h)<tonumber(j)then return{'fenced',j}end;if h~=j then local k,l=redis.call('PTTL',f),redis.call('PTTL',g)if k==-1 then redis.call('SET',g,h..'.0.0')else redis.call('SET',g,h..'.0.0','PX',math.max(k,l,a))end end;local m=redis.call('GET',f)return{'read',m and'='..m or''}end;local n={}for o=1,#KEYS/2 do n[o]=e(KEYS[2*o-1],KEYS[2*o],ARGV[o+1])end;return n`,
}
