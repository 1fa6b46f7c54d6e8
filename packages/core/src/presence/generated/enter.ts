// Generated from ../enter.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const enter: Script<[memory: string], [entries: string, room: string], [channel: string, id: string, ttl: string, role: string, user: string, session: string, exclusive: string, takeover: string]> = {
  sha1: '166db34205392039fac0e4e2708baba987db297a',
  text: roomPart + `memory,mostEntries=tonumber(ARGV[1]),10000;local channel,id,ttl,v,w,x,u,takeover=unpack(ARGV,2,9)local function enter()Y(0)ttl=tonumber(ttl)local o=e(id,-32)local mine=y(o)if mine then if mine.state~='in'then return{'spent'}end;extend(o,ttl)keep(math.max(ttl,memory))return id..'.'..mine.fence end;local displaced={}if u=='1'then local holder=a('HGET',j,'r:'..v)if holder and holder~=w and takeover~='anyone'then local A=B(holder,v,1)[1]if A then return{'held',A.text,A.left}end elseif holder and takeover~=''then for Q,A in ipairs(B(holder,v))do if A.user~=w or A.session~=x then displaced[#displaced+1]=A end end end end;local earlier=y(a('HGET',j,I({user=w,session=x}))or'')if earlier and earlier.state=='in'then displaced[#displaced+1]=earlier end;if a('ZCARD',i)>=mostEntries then return{'full'}end;S(displaced,'taken')local r=change()local A={random=o,state='in',fence=r,name=b(id,'^(.*)%.%x+$')or'',since=c('%.0f',m),exclusive=u,role=v,user=w,session=x}H(A)J(A)a('HINCRBY',j,'n',1)extend(o,ttl)keep(math.max(ttl,memory))tell(channel)return id..'.'..r end;return{enter()}`,
}
