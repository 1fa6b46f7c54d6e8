// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const release: Script<[word: string], [lock: string, record: string], [token: string, channel: string]> = {
  sha1: '113968dc46bcfdac548855bb6162bbe51cb5955b',
  text: `local a,b=KEYS,ARGV;local c,d,e,f,g=redis.call,redis.pcall,string.match,string.sub,b[1]local i=#a>2 and#a<999 and d('MGET',unpack(a))or{}local j={}for o=1,#a/2 do local p,q,h,k=a[2*o-1],a[2*o],b[2*o],b[2*o+1]local w;local v=i[2*o-1]or d('GET',p)local l=type(v)=='table'if l then v=v.err end;local r,D=e(v or'','^(.*)%.(%d+)$')local x=tostring(i[2*o]or d('GET',q))if not v or h~=v and h~=r then local m,n=e(x,'%.(%x+)%.(%a+)$')if m and string.find(h,m,1,true)then w={n,-2}elseif l then w={'failed',v}else w={v and'superseded'or'gone'}end elseif c('DEL',p)==0 then w={g,-2}else local s,y=e(x,'^((%x+)%.%d+)')if r and y==f(r,-32)then d('SET',q,s..'.'..y..'.'..g,'XX','KEEPTTL')end;w=d('PUBLISH',k,g..' '..(D and#D<=128 and D or'-'))if type(w)=='table'then w=-1 end end;j[o]=w end;return j`,
}
