// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const renew: Script<[memory: string], [lock: string, record: string], [token: string, ttl: string]> = {
  sha1: 'fa5f04aa2464c1a30dc3ecd5a43400120b166ff7',
  text: `local h=tonumber(ARGV[1])local c=redis.call;local function a(p,q,b,s)local v=redis.pcall('GET',p)if type(v)=='table'then return{'failed',v.err}end;if not v then return{'gone'}end;if b~=v then return{'superseded'}end;local d=tonumber(s)if d>c('PTTL',p)then c('PEXPIRE',p,s)end;local u,e=s,d;if d<h then u,e=ARGV[1],h end;if e>c('PTTL',q)then c('PEXPIRE',q,u)end;return'renewed'end;local j={}for o=1,#KEYS/2 do j[o]=a(KEYS[2*o-1],KEYS[2*o],ARGV[2*o],ARGV[2*o+1])end;return j`,
}
