// Generated from ../leave.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const leave: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, name: string, id: string]> = {
  sha1: 'de19e4ead9138d17d18b762b4b28cb62b6fe6e7b',
  text: turnsPart + `channels,believes,channel,x,id=unpack(ARGV)local function leave()local failed=open(0,id)if failed then return{'failed',failed.err}end;local member=s.mine;if s.waiting>0 then a('ZREM',o,'')G()end;if member then release(member,id)end;local wasIn=false;if s.hadWaiters then F(x)wasIn=E(x)J(channels,channel,believes)end;finish()if s.hasMore or member and s.waiting==0 then announce(channel,member and c(member,'%.(%d+) ?%d*$'))end;return(member or wasIn or id~=''and hasEnded(id)=='released')and'left'or{'absent'}end;return{leave()}`,
}
