// Generated from ../look.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const look: Script<[], [entries: string, room: string], [known: string, role: string, user: string]> = {
  sha1: 'f8a6897a920d2fee78325fbf70778c833ef86bb8',
  text: roomPart + `function look(E,known,v,w)i,j=KEYS[E+1],KEYS[E+2]local version=(a('HGET',j,'f')or'0')..'.'..a('ZCOUNT',i,'('..m,'+inf')if version==known then return{'same'}end;local D={}local function add(A)if A and A.state=='in'then D[#D+1],D[#D+2]=A.text,A.left end end;if v==''then local C=a('ZRANGEBYSCORE',i,'('..m,'+inf','WITHSCORES')for i=1,#C,2 do local A=n(C[i])if A then A.left=C[i+1]-m end;add(A)end else for P,A in ipairs(w==''and F(v)or B(w,v))do add(A)end end;return{'look',version,D}end;local replies={}for i=1,#KEYS/2 do replies[i]=look(2*i-2,ARGV[3*i-2],ARGV[3*i-1],ARGV[3*i])end;return replies`,
}
