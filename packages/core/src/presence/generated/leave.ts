// Generated from ../leave.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { roomPart } from './room.part.ts'

export const leave: Script<[memory: string], [entries: string, room: string], [channel: string, random: string, fence: string]> = {
  sha1: '4daabe927ac2c92378c28113400aefeca621f775',
  text: roomPart + `memory=tonumber(ARGV[1])local function takeOut(F,channel,o,r)if i~=KEYS[F+1]then Y(F)end;local A=y(o)if not A or r~=''and A.fence~=r then return{'gone'}end;if A.state=='left'then return{'released',-2}end;if A.state=='taken'then return{'superseded'}end;S({A},'left')change()keep(memory)return tell(channel)end;local replies={}for i=1,#KEYS/2 do replies[i]=takeOut(2*i-2,ARGV[3*i-1],ARGV[3*i],ARGV[3*i+1])end;return replies`,
}
