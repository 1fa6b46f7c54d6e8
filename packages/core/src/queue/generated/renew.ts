// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const renew: Script<[memory: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [whole: string, ttl: string]> = {
  sha1: '9ffce5931454489dd4a6dea02486fb019054a949',
  text: turnsPart + `memory=tonumber(ARGV[1])local failed;local function renew(at,whole,ttl)local id=c(whole,'^(.*)%.%d+$')if KEYS[at+1]==l then r.mine=not failed and r.isShared and a('HGET',q,id)or nil else if l and not failed then finish()end;failed=open(at,id)if not failed and r.isShared then a('ZREM',n,'')end end;if failed then return{'failed',failed.err}end;if not r.isShared or not r.mine or c(r.mine,'^%S+')~=whole then return{'gone'}end;extend(r.mine,tonumber(ttl))local kept=f(memory,ttl)if kept>a('PTTL',m)then a('PEXPIRE',m,kept)end;return'renewed'end;local replies={}for R=1,#KEYS/6 do replies[R]=renew(6*R-6,ARGV[2*R],ARGV[2*R+1])end;if not failed then finish()end;return replies`,
}
