// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const release: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, whole: string, exclusive: string, rest: string]> = {
  sha1: 'c91af9dca83165fb361b409456dff3e35da525fa',
  text: turnsPart + `channels,believes=ARGV[1],ARGV[2]local function giveBack(H,channel,whole,exclusive,rest)local A,fence=c(whole,'^(.*)%.(%d+)$')local I=G(H,A)if I then return{'failed',I.err}end;local z=r.token;if exclusive==''then z=r.isShared and r.mine end;local isMine=z and c(z,'^%S+')==whole;local B=tonumber(isMine and c(z,' (%d+)$')or 1)rest=tonumber(rest)if r.waiting>0 or rest>0 then a('ZREM',n,'')end;if r.waiting>0 then begin()end;local reply;if not isMine then local how=hasEnded(whole)reply=how and{how,-2}or{exclusive~=''and r.token and'superseded'or'gone'}elseif rest==0 then release(z,A)elseif rest>=B then reply={'released',-2}else local fewer=whole..' '..rest;a('ZADD',l,a('ZSCORE',l,z),fewer)a('ZREM',l,z)r.mine,r.held,r.first=fewer,r.held-B+rest,nil end;if r.waiting>0 then move(channels,channel,believes)end;finish(A,r.count>0 and rest>0 and isMine and r.mine)local told=(r.hasMore or not reply and r.waiting==0)and announce(channel,reply and'-'or fence)return reply or r.isUnheard and-1 or told or{'released',-2}end;local replies={}for S=1,#KEYS/6 do replies[S]=giveBack(6*S-6,unpack(ARGV,4*S-1,4*S+2))end;return replies`,
}
