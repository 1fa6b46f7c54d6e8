// Generated from ../enter.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const enter: Script<[memory: string], [entries: string, room: string], [channel: string, id: string, ttl: string, role: string, user: string, session: string, exclusive: string, takeover: string]> = {
  sha1: 'ab7fd850cda310165381aefaff7f041cef9d4f5b',
  text: roomPart + `memory,mostEntries=tonumber(ARGV[1]),10000;local channel,id,ttl,v,w,x,u,takeover=unpack(ARGV,2,9)local function enter()X(0)ttl=tonumber(ttl)local o=e(id,-32)local mine=y(o)if mine then if mine.state~='in'then return{'spent'}end;extend(o,ttl)keep(math.max(ttl,memory))return id ..'.'..mine.fence end;local displaced={}if u=='1'then for P,A in ipairs(G(v))do local isMine=A.user==w;if not isMine and takeover~='anyone'then return{'held',A.text,A.left}end;if takeover~=''and not(isMine and A.session==x)then displaced[#displaced+1]=A end end end;for P,A in ipairs(B(w))do if A.session==x then displaced[#displaced+1]=A end end;if a('ZCARD',i)>=mostEntries then return{'full'}end;R(displaced,'taken')local r=Z()local A={random=o,state='in',fence=r,name=b(id,'^(.*)%.%x+$')or'',since=c('%.0f',m),exclusive=u,role=v,user=w,session=x}H(A)I(A)a('HINCRBY',j,'n',1)extend(o,ttl)keep(math.max(ttl,memory))tell(channel)return id ..'.'..r end;return{enter()}`,
}
