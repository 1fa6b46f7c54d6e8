// Generated from ../leave.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const leave: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, name: string, id: string]> = {
  sha1: '6911db2ef95c8177127d6c246fd99f1883fc4fbd',
  text: turnsPart + `channels,believes,channel,T,A=unpack(ARGV)local function leave()local I=G(0,A)if I then return{'failed',I.err}end;local z=r.mine;if r.waiting>0 then a('ZREM',n,'')begin()end;if z then release(z,A)end;endTurn(T)local wasIn=r.waiting>0 and remove(T)if r.waiting>0 then move(channels,channel,believes)end;finish()if r.hasMore or z and r.waiting==0 then announce(channel,z and c(z,'%.(%d+) ?%d*$')or'-')end;return(z or wasIn or A~=''and hasEnded(A)=='released')and'left'or{'absent'}end;return{leave()}`,
}
