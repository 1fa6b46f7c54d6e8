// Generated from ../look.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const look: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, inbox: string, alive: string, numbers: string]> = {
  sha1: '3535df2626bc307597dccffa9c5d0f06d541f854',
  text: turnsPart + `channels,believes=ARGV[1],ARGV[2]local function look(at,channel,L,N,numbers)local failed=open(at,'')if failed then return{'failed',failed.err}end;if s.waiting>0 then a('ZREM',o,'')G()local Y=A(L)if Y.generation then H(L,N,Y.ear=='-'and''or'1',channels,believes)end;J(channels,channel,believes)end;finish()local having,missing={},{}for _,X in ipairs(s.turns)do if w(X.name)==L then having[#having+1]=tonumber(c(X.name,'%d+$'))end end;local Q={}for number in string.gmatch(numbers,'%d+')do Q[#Q+1]=L..'.'..number end;local places=s.waiting>0 and Q[1]and a('ZMSCORE',o,unpack(Q))or{}if s.waiting>0 then B(Q)end;for S,x in ipairs(Q)do if not places[S]or not D(s.entries[x])then missing[#missing+1]=tonumber(c(x,'%d+$'))end end;return{'looked',soonest(),having,missing}end;local replies={}for S=1,#KEYS/6 do replies[S]=look(6*S-6,unpack(ARGV,4*S-1,4*S+2))end;return replies`,
}
