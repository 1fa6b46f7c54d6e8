// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const renew: Script<[memory: string], [lock: string, record: string], [token: string, ttl: string]> = {
  sha1: '1707be02bb64de356ddd48e5b2783a7858f48196',
  text: `local a=tonumber(ARGV[1])local function G(c,d,t,f)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;if not h then return{'gone'}end;if t~=h then return{'superseded'}end;if f>redis.call('PTTL',c)then redis.call('PEXPIRE',c,f)end;local H=math.max(f,a)if H>redis.call('PTTL',d)then redis.call('PEXPIRE',d,H)end;return{'renewed'}end;local v={}for w=1,#KEYS/2 do v[w]=G(KEYS[2*w-1],KEYS[2*w],ARGV[2*w],tonumber(ARGV[2*w+1]))end;return v`,
}
