// Generated from ../complete.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const complete: Script<[], [lock: string, fences: string, record: string], [token: string, fingerprint: string, state: string, result: string, keep: string, channel: string]> = {
  sha1: '19ec975451b7267ea93a46a77600fc88f230cdd0',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local d,e,f=unpack(KEYS)local g,r,o,i,s,h=unpack(ARGV)local function j()local l,n=b('GET',d),b('GET',f)if type(n)=='table'then return{'failed',n.err}end;local k,p=c(n or'','^(%S+) (%S+) %S')if n and not p then return{'other'}end;if p==g and k~='running'then return{'completed',-2}end;if n and p~=g then return{'superseded',n,a('PTTL',f)}end;if not n and l~=g then return{'gone'}end;if o~='done'then a('DEL',f)end;local F=b('SET',f,o..' '..g..' '..r..' '..i,'PX',s)if F.err then return F end;local y=-2;if l==g then a('DEL',d)local u,v=c(g,'(%x+)%.(%d+)$')local w,m=c(tostring(b('GET',e)),'^((%x+)%.%d+)')if m==u then b('SET',e,w..'.'..u..'.released','XX','KEEPTTL')end;y=b('PUBLISH',h,'released '..v)if type(y)~='number'then y=-1 end end;return{'completed',y}end;local M=j()return M.err and M or{M}`,
}
