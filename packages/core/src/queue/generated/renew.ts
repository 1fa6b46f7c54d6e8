// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const renew: Script<[memory: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string, holders: string], [whole: string, ttl: string]> = {
  sha1: '76402a687abec8fabe64dfdd50af5a1cbbb18f3a',
  text: turnsPart + `memory=tonumber(ARGV[1])local failed;local function renew(at,whole,ttl)if KEYS[at+1]~=l then if l and not failed and D then finish()end;failed=open(at)end;if failed then return{'failed',failed.err}end;local V=w and memberOf(c(whole,'^(.*)%.%d+$'))if not V or c(V,'^%S+')~=whole then return{'gone'}end;a('ZREM',n,'')extend(V,tonumber(ttl))local kept=f(memory,ttl)if kept>a('PTTL',m)then a('PEXPIRE',m,kept)end;return'renewed'end;local replies={}for i=1,#KEYS/7 do replies[i]=renew(7*i-7,ARGV[2*i],ARGV[2*i+1])end;if not failed and D then finish()end;return replies`,
}
