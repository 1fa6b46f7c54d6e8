// Generated from ../abandon.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const abandon: Script<[], [lock: string, fences: string, record: string], [token: string, channel: string]> = {
  sha1: 'c2197f73c7b5a06137e9cdb8da94a1b62106e1c0',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local d,e,f=unpack(KEYS)local g,h=unpack(ARGV)local function i(j)return type(j)=='string'and(j==g or c(j,'^(.*)%.%d+$')==g)end;local function k()local l,m,n=b('GET',d),tostring(b('GET',e)),b('GET',f)if type(n)=='table'then return{'failed',n.err}end;local o,p=c(n or'','^(%S+) (%S+) %S')if n and not p then return{'other'}end;local q,r=i(p),i(l)if q and o~='running'then return{'completed'}end;if not q and not r then local s,t=c(m,'%.(%x+)%.(%a+)$')if t=='released'and string.find(g,s,1,true)then return{'abandoned',-2}end;if n then return{'superseded',n,a('PTTL',f)}end;return{'gone'}end;local u,v=c(q and p or l,'(%x+)%.(%d+)$')if q then a('DEL',f)end;if r then a('DEL',d)end;local w,x=c(m,'^((%x+)%.%d+)')if x==u then b('SET',e,w..'.'..u..'.released','XX','KEEPTTL')end;local y=r and b('PUBLISH',h,'released '..v)or-2;return{'abandoned',type(y)=='number'and y or-1}end;return{k()}`,
}
