// Generated from ../leave.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const leave: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string, holders: string], [channel: string, name: string, id: string]> = {
  sha1: '2df744fb7225f52ed7e527fa3246366588557282',
  text: turnsPart + `channels,believes,channel,name,W=unpack(ARGV)local function leave()local failed=open(0)if failed then return{'failed',failed.err}end;local V=W~=''and memberOf(W)a('ZREM',n,'')if B>0 then begin()end;if V then release(V,W)end;endTurn(name)local wasIn=B>0 and remove(name)if B>0 then move(channels,channel,believes)end;if D then finish()end;if N or V and B==0 then announce(channel,V and c(V,'%.(%d+) ?%d*$')or'-')end;return(V or wasIn or W~=''and hasEnded(W)=='released')and'left'or{'absent'}end;return{leave()}`,
}
