// Generated from ../look.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const look: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, inbox: string, alive: string, numbers: string]> = {
  sha1: '3ccbb40b7c3b3841c5b779659f84ce4bb82671c9',
  text: turnsPart + `channels,believes=ARGV[1],ARGV[2]local function look(H,channel,K,M,numbers)local I=G(H,'')if I then return{'failed',I.err}end;if r.waiting>0 then a('ZREM',n,'')begin()local own=J(K)if own.generation then hear(K,M,own.ear=='-'and''or'1',channels,believes)end;move(channels,channel,believes)end;finish()local having,missing={},{}for D,Z in ipairs(r.turns)do if X(Z.name)==K then having[#having+1]=tonumber(c(Z.name,'%d+$'))end end;local Q={}for number in string.gmatch(numbers,'%d+')do Q[#Q+1]=K..'.'..number end;local places=r.waiting>0 and Q[1]and a('ZMSCORE',n,unpack(Q))or{}if r.waiting>0 then P(Q)end;for S,T in ipairs(Q)do if not places[S]or not stands(r.entries[T])then missing[#missing+1]=tonumber(c(T,'%d+$'))end end;return{'looked',soonest(),having,missing}end;local replies={}for S=1,#KEYS/6 do replies[S]=look(6*S-6,unpack(ARGV,4*S-1,4*S+2))end;return replies`,
}
