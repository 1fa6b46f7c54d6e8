// Generated from ../leave.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const leave: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, name: string, id: string]> = {
  sha1: 'd640d709730baf2e6a5866eb36572fc6646316f8',
  text: turnsPart + `channels,believes,channel,name,id=unpack(ARGV)local function leave()local failed=open(0,id)if failed then return{'failed',failed.err}end;local member=w;if B>0 then a('ZREM',n,'')begin()end;if member then release(member,id)end;endTurn(name)local wasIn=B>0 and remove(name)if B>0 then move(channels,channel,believes)end;finish()if P or member and B==0 then announce(channel,member and c(member,'%.(%d+) ?%d*$')or'-')end;return(member or wasIn or id~=''and hasEnded(id)=='released')and'left'or{'absent'}end;return{leave()}`,
}
