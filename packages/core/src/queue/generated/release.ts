// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const release: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, whole: string, exclusive: string, rest: string]> = {
  sha1: 'c543f647e08835fe7cfab2d059cd98a5342e88aa',
  text: turnsPart + `channels,believes=ARGV[1],ARGV[2]local function giveBack(at,channel,whole,exclusive,rest)local id,fence=c(whole,'^(.*)%.(%d+)$')local failed=open(at,id)if failed then return{'failed',failed.err}end;local member=u;if exclusive==''then member=v and w end;local isMine=member and c(member,'^%S+')==whole;local permits=tonumber(isMine and c(member,' (%d+)$')or 1)rest=tonumber(rest)if B>0 or rest>0 then a('ZREM',n,'')end;if B>0 then begin()end;local reply;if not isMine then local how=hasEnded(whole)reply=how and{how,-2}or{exclusive~=''and u and'superseded'or'gone'}elseif rest==0 then release(member,id)elseif rest>=permits then reply={'released',-2}else local fewer=whole..' '..rest;a('ZADD',l,a('ZSCORE',l,member),fewer)a('ZREM',l,member)w,z,L=fewer,z-permits+rest,nil end;if B>0 then move(channels,channel,believes)end;finish(id,A>0 and rest>0 and isMine and w)local told=(P or not reply and B==0)and announce(channel,reply and'-'or fence)return reply or Q and-1 or told or{'released',-2}end;local replies={}for i=1,#KEYS/6 do replies[i]=giveBack(6*i-6,unpack(ARGV,4*i-1,4*i+2))end;return replies`,
}
