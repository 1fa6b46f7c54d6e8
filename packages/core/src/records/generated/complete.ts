// Generated from ../complete.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const complete: Script<[], [lock: string, fences: string, record: string], [token: string, fingerprint: string, state: string, result: string, keep: string, channel: string]> = {
  sha1: '21f4ef78cced29768cd1aaa5369bbf7698b28958',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local d,e,f=unpack(KEYS)local g,t,o,i,u,h=unpack(ARGV)local function j()local l,n=b('GET',d),b('GET',f)if type(n)=='table'then return{'failed',n.err}end;local k,p=c(n or'','^(%S+) (%S+) %S')if n and not p then return{'other'}end;if p==g and k~='running'then return{'completed',-2}end;if n and p~=g then return{'superseded',n,a('PTTL',f)}end;if not n and l~=g then return{'gone'}end;if o~='done'then a('DEL',f)end;local G=b('SET',f,o..' '..g..' '..t..' '..i,'PX',u)if G.err then return G end;local D=-2;if l==g then a('DEL',d)local w,x=c(g,'(%x+)%.(%d+)$')local B,m=c(tostring(b('GET',e)),'^((%x+)%.%d+)')if m==w then b('SET',e,B..'.'..w..'.released','XX','KEEPTTL')end;D=b('PUBLISH',h,'released '..x)if type(D)~='number'then D=-1 end end;return{'completed',D}end;local N=j()return N.err and N or{N}`,
}
