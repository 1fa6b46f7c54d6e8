// Generated from ../look.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const look: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, inbox: string, alive: string, numbers: string]> = {
  sha1: '7e2b30886974103311cf836ef2ba0a727d2c20f5',
  text: turnsPart + `channels,believes=ARGV[1],ARGV[2]local function look(at,channel,K,M,numbers)local failed=open(at,'')if failed then return{'failed',failed.err}end;if r.waiting>0 then a('ZREM',n,'')F()local X=z(K)if X.generation then G(K,M,X.ear=='-'and''or'1',channels,believes)end;I(channels,channel,believes)end;finish()local having,missing={},{}for _,W in ipairs(r.turns)do if v(W.name)==K then having[#having+1]=tonumber(c(W.name,'%d+$'))end end;local P={}for number in string.gmatch(numbers,'%d+')do P[#P+1]=K..'.'..number end;local places=r.waiting>0 and P[1]and a('ZMSCORE',n,unpack(P))or{}if r.waiting>0 then A(P)end;for R,w in ipairs(P)do if not places[R]or not C(r.entries[w])then missing[#missing+1]=tonumber(c(w,'%d+$'))end end;return{'looked',soonest(),having,missing}end;local replies={}for R=1,#KEYS/6 do replies[R]=look(6*R-6,unpack(ARGV,4*R-1,4*R+2))end;return replies`,
}
