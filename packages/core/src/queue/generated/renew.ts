// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const renew: Script<[memory: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [whole: string, ttl: string]> = {
  sha1: '9a4e3384871a186dcf5cd8d2ea6c40517586b8df',
  text: turnsPart + `memory=tonumber(ARGV[1])local I;local function renew(H,whole,ttl)local A=c(whole,'^(.*)%.%d+$')if KEYS[H+1]==l then r.mine=not I and r.isShared and a('HGET',q,A)or nil else if l and not I then finish()end;I=G(H,A)if not I and r.isShared then a('ZREM',n,'')end end;if I then return{'failed',I.err}end;if not r.isShared or not r.mine or c(r.mine,'^%S+')~=whole then return{'gone'}end;extend(r.mine,tonumber(ttl))local kept=f(memory,ttl)if kept>a('PTTL',m)then a('PEXPIRE',m,kept)end;return'renewed'end;local replies={}for S=1,#KEYS/6 do replies[S]=renew(6*S-6,ARGV[2*S],ARGV[2*S+1])end;if not I then finish()end;return replies`,
}
