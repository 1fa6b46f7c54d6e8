// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const renew: Script<[memory: string], [entries: string, room: string], [random: string, fence: string, ttl: string]> = {
  sha1: '1e744a44aa96014a2d24c9e5c13798ae90167ced',
  text: roomPart + `memory=tonumber(ARGV[1])local function renew(F,o,r,ttl)if i~=KEYS[F+1]then i,j=KEYS[F+1],KEYS[F+2]a('ZREM',i,'')end;local A=y(o)if not A or A.fence~=r or A.state=='left'then return{'gone'}end;if A.state=='taken'then return{'superseded'}end;extend(o,ttl)keep(math.max(ttl,memory))return'renewed'end;local replies={}for i=1,#KEYS/2 do replies[i]=renew(2*i-2,ARGV[3*i-1],ARGV[3*i],tonumber(ARGV[3*i+1]))end;return replies`,
}
