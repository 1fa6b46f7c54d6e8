// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const release: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string, holders: string], [channel: string, whole: string, exclusive: string, rest: string]> = {
  sha1: '3e6a8a353491e9dc5a1f684a194cd61f05c03ade',
  text: turnsPart + `channels,believes=ARGV[1],ARGV[2]local function giveBack(at,channel,whole,exclusive,rest)local failed=open(at)if failed then return{'failed',failed.err}end;local W,fence=c(whole,'^(.*)%.(%d+)$')local V=v;if exclusive==''then V=w and memberOf(W)end;local isMine=V and c(V,'^%S+')==whole;local X=tonumber(isMine and c(V,' (%d+)$')or 1)rest=tonumber(rest)if B>0 or w then a('ZREM',n,'')end;if B>0 then begin()end;local reply;if not isMine then local how=hasEnded(whole)reply=how and{how,-2}or{exclusive~=''and v and'superseded'or'gone'}elseif rest==0 then release(V,W)elseif rest>=X then reply={'released',-2}else local fewer=whole ..' '..rest;a('ZADD',l,a('ZSCORE',l,V),fewer)a('ZREM',l,V)a('HSET',r,W,fewer)z=z-X+rest end;if B>0 then move(channels,channel,believes)end;if D then finish()end;local told=(N or not reply and B==0)and announce(channel,reply and'-'or fence)return reply or O and-1 or told or{'released',-2}end;local replies={}for i=1,#KEYS/7 do replies[i]=giveBack(7*i-7,unpack(ARGV,4*i-1,4*i+2))end;return replies`,
}
