// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const release: Script<[word: string], [lock: string, record: string], [token: string, channel: string]> = {
  sha1: '772e70f2790f773a32f9806df5621dc313894ddc',
  text: `local a,b=KEYS,ARGV;local c,d,e,f,g=redis.call,redis.pcall,string.match,string.sub,b[1]local i=#a>2 and#a<999 and d('MGET',unpack(a))or{}local j={}for o=1,#a/2 do local p,q,h,l=a[2*o-1],a[2*o],b[2*o],b[2*o+1]local w;local v=i[2*o-1]or d('GET',p)local m=type(v)=='table'if m then v=v.err end;local r,A=e(v or'','^(.*)%.(%d+)$')local x=tostring(i[2*o]or d('GET',q))if not v or h~=v and h~=r then local n,k=e(x,'%.(%x+)%.(%a+)$')if n and string.find(h,n,1,true)then w={k,-2}elseif m then w={'failed',v}else w={v and'superseded'or'gone'}end elseif c('DEL',p)==0 then w={g,-2}else local y,B=f(x,1,32),e(x,'^%.(%d+)',33)if B and r and y==f(r,-32)then d('SET',q,y..'.'..B..'.'..y..'.'..g,'XX','KEEPTTL')end;w=d('PUBLISH',l,g..' '..(A and#A<=128 and A or'-'))if type(w)=='table'then w=-1 end end;j[o]=w end;return j`,
}
