// Generated from ../leave.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const leave: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, name: string, id: string]> = {
  sha1: 'f5aad2d8538e58e1f206bd60f80e505fca9b426a',
  text: turnsPart + `channels,believes,channel,w,id=unpack(ARGV)local function leave()local failed=open(0,id)if failed then return{'failed',failed.err}end;local member=r.mine;if r.waiting>0 then a('ZREM',n,'')F()end;if member then release(member,id)end;local wasIn=false;if r.hadWaiters then E(w)wasIn=D(w)I(channels,channel,believes)end;finish()if r.hasMore or member and r.waiting==0 then announce(channel,member and c(member,'%.(%d+) ?%d*$')or'-')end;return(member or wasIn or id~=''and hasEnded(id)=='released')and'left'or{'absent'}end;return{leave()}`,
}
