// Generated from ../look.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const look: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, inbox: string, alive: string, numbers: string]> = {
  sha1: 'd1ca83a1448727f6cf28e9e11809046c5c85f84a',
  text: turnsPart + `channels,believes=ARGV[1],ARGV[2]local function look(at,channel,inbox,alive,numbers)local failed=open(at,'')if failed then return{'failed',failed.err}end;if B>0 then a('ZREM',n,'')begin()local own=box(inbox)if own.generation then hear(inbox,alive,own.ear=='-'and''or'1',channels,believes)end;move(channels,channel,believes)end;finish()local having,missing={},{}for _,entry in ipairs(J)do if inboxOf(entry.name)==inbox then having[#having+1]=tonumber(c(entry.name,'%d+$'))end end;local names={}for number in string.gmatch(numbers,'%d+')do names[#names+1]=inbox..'.'..number end;local places=B>0 and names[1]and a('ZMSCORE',n,unpack(names))or{}if B>0 then readEntries(names)end;for i,name in ipairs(names)do if not places[i]or not stands(I[name])then missing[#missing+1]=tonumber(c(name,'%d+$'))end end;return{'looked',soonest(),having,missing}end;local replies={}for i=1,#KEYS/6 do replies[i]=look(6*i-6,unpack(ARGV,4*i-1,4*i+2))end;return replies`,
}
