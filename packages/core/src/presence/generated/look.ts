// Generated from ../look.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const look: Script<[], [entries: string, room: string], [known: string, role: string, user: string]> = {
  sha1: 'e8a278e8d8a59e09b90b477234ee92c61ce618a0',
  text: roomPart + `function look(F,known,v,w)i,j=KEYS[F+1],KEYS[F+2]local version=(a('HGET',j,'f')or'0')..'.'..a('ZCOUNT',i,'('..m,'+inf')if version==known then return{'same'}end;local E={}local function add(A)if A and A.state=='in'then E[#E+1],E[#E+2]=A.text,A.left end end;if v==''then local D=a('ZRANGEBYSCORE',i,'('..m,'+inf','WITHSCORES')for i=1,#D,2 do local A=n(D[i])if A then A.left=D[i+1]-m end;add(A)end else for Q,A in ipairs(w==''and G(v)or B(w,v))do add(A)end end;return{'look',version,E}end;local replies={}for i=1,#KEYS/2 do replies[i]=look(2*i-2,ARGV[3*i-2],ARGV[3*i-1],ARGV[3*i])end;return replies`,
}
