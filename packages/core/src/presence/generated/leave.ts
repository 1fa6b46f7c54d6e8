// Generated from ../leave.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const leave: Script<[memory: string], [entries: string, room: string], [channel: string, random: string, fence: string]> = {
  sha1: '9e68d7b07ac53660145be64913460af456ebec60',
  text: roomPart + `memory=tonumber(ARGV[1])local function takeOut(E,channel,o,r)if i~=KEYS[E+1]then R(E)end;local A=y(o)if not A or r~=''and A.fence~=r then return{'gone'}end;if A.state=='left'then return{'released',-2}end;if A.state=='taken'then return{'superseded'}end;L(A,'left')T()X(memory)return Z(channel)end;local replies={}for i=1,#KEYS/2 do replies[i]=takeOut(2*i-2,ARGV[3*i-1],ARGV[3*i],ARGV[3*i+1])end;return replies`,
}
