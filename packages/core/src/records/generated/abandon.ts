// Generated from ../abandon.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const abandon: Script<[], [lock: string, fences: string, record: string], [token: string, channel: string]> = {
  sha1: '7c9224782a1fe046e76e376c3596d1b97a8919e1',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local d,e,f=unpack(KEYS)local g,h=unpack(ARGV)local function i(j)return type(j)=='string'and(j==g or c(j,'^(.*)%.%d+$')==g)end;local function k()local l,m,n=b('GET',d),tostring(b('GET',e)),b('GET',f)if type(n)=='table'then return{'failed',n.err}end;local o,p,q,r=c(n or'','^(%S+) (%S+) (%S+) ?(.*)$')if n and not p then return{'other'}end;local s,t=i(p),i(l)if s and o~='running'then return{'completed'}end;if not s and not t then local u,v=c(m,'%.(%x+)%.(%a+)$')if v=='released'and string.find(g,u,1,true)then return{'abandoned',-2}end;if n then return{'superseded',n,a('PTTL',f)}end;return{'gone'}end;local w,x=c(s and p or l,'(%x+)%.(%d+)$')if s then local y,z,A=a('PTTL',f),c(r,'^(%S+) ?(%S*)')a('DEL',f)if z then a('SET',f,'running '..z..' '..q..' '..A)end;if z and y>=0 then a('PEXPIRE',f,y)end end;if t then a('DEL',d)end;local B,C=c(m,'^((%x+)%.%d+)')if C==w then b('SET',e,B..'.'..w..'.released','XX','KEEPTTL')end;local D=t and b('PUBLISH',h,'released '..x)or-2;return{'abandoned',type(D)=='number'and D or-1}end;return{k()}`,
}
