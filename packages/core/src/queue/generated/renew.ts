// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const renew: Script<[memory: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [whole: string, ttl: string]> = {
  sha1: 'c16c88a1e0f34773e04178d679b1af126b8d9db6',
  text: turnsPart + `memory=tonumber(ARGV[1])local failed;local function renew(at,whole,ttl)local id=c(whole,'^(.*)%.%d+$')if KEYS[at+1]==l then w=not failed and v and a('HGET',q,id)or nil else if l and not failed then finish()end;failed=open(at,id)if not failed and v then a('ZREM',n,'')end end;if failed then return{'failed',failed.err}end;if not v or not w or c(w,'^%S+')~=whole then return{'gone'}end;extend(w,tonumber(ttl))local kept=f(memory,ttl)if kept>a('PTTL',m)then a('PEXPIRE',m,kept)end;return'renewed'end;local replies={}for i=1,#KEYS/6 do replies[i]=renew(6*i-6,ARGV[2*i],ARGV[2*i+1])end;if not failed then finish()end;return replies`,
}
