// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const renew: Script<[memory: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [whole: string, ttl: string]> = {
  sha1: '16fa2c387e9e13f461daab82853a747d9cb80c00',
  text: turnsPart + `memory=tonumber(ARGV[1])local failed;local function renew(at,whole,ttl)local id=c(whole,'^(.*)%.%d+$')if KEYS[at+1]==m then s.mine=not failed and s.isShared and a('HGET',r,id)or nil;if s.hasMore then dropMine()end else if m and not failed then finish()end;failed=open(at,id)if not failed and s.isShared then a('ZREM',o,'')end end;if failed then return{'failed',failed.err}end;if not s.isShared or not s.mine or c(s.mine,'^%S+')~=whole then return{'gone'}end;extend(s.mine,tonumber(ttl))local kept=f(memory,ttl)if kept>a('PTTL',n)then a('PEXPIRE',n,kept)end;return'renewed'end;local replies={}for S=1,#KEYS/6 do replies[S]=renew(6*S-6,ARGV[2*S],ARGV[2*S+1])end;if not failed then finish()end;return replies`,
}
