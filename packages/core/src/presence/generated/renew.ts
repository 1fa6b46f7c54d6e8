// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const renew: Script<[memory: string], [entries: string, room: string], [random: string, fence: string, ttl: string]> = {
  sha1: '5ff4154dfa60be410c50dd33cce7d5d15c1dc978',
  text: roomPart + `memory=tonumber(ARGV[1])local function renew(E,o,r,W)if i~=KEYS[E+1]then i,j=KEYS[E+1],KEYS[E+2]a('ZREM',i,'')end;local A=y(o)if not A or A.fence~=r or A.state=='left'then return{'gone'}end;if A.state=='taken'then return{'superseded'}end;V(o,W)X(math.max(W,memory))return'renewed'end;local replies={}for i=1,#KEYS/2 do replies[i]=renew(2*i-2,ARGV[3*i-1],ARGV[3*i],tonumber(ARGV[3*i+1]))end;return replies`,
}
