// Generated from ../enter.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const enter: Script<[memory: string], [entries: string, room: string], [channel: string, id: string, ttl: string, role: string, user: string, session: string, exclusive: string, takeover: string]> = {
  sha1: '4f3ba542e940684069d500ce01d16c2c999d78b1',
  text: roomPart + `memory,mostEntries=tonumber(ARGV[1]),10000;local channel,id,W,v,w,x,u,takeover=unpack(ARGV,2,9)local function enter()R(0)W=tonumber(W)local o=e(id,-32)local mine=y(o)if mine then if mine.state~='in'then return{'spent'}end;V(o,W)X(math.max(W,memory))return id ..'.'..mine.fence end;local displaced={}if u=='1'then for P,A in ipairs(F(v))do local isMine=A.user==w;if not isMine and takeover~='anyone'then return{'held',A.text,A.left}end;if takeover~=''and not(isMine and A.session==x)then displaced[#displaced+1]=A end end end;for P,A in ipairs(B(w))do if A.session==x then displaced[#displaced+1]=A end end;if a('ZCARD',i)>=mostEntries then return{'full'}end;for P,A in ipairs(displaced)do L(A,'taken')end;local r=T()local A={random=o,state='in',fence=r,name=b(id,'^(.*)%.%x+$')or'',since=c('%.0f',m),exclusive=u,role=v,user=w,session=x}G(A)H(A)a('HINCRBY',j,'n',1)V(o,W)X(math.max(W,memory))Z(channel)return id ..'.'..r end;return{enter()}`,
}
