// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const renew: Script<[memory: string], [lock: string, record: string], [token: string, ttl: string]> = {
  sha1: '552c50ceda72f3e10b8d4af0fec7adb33856e289',
  text: `local a=tonumber(ARGV[1])local function b(c,d,t,f)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;if not h then return{'gone'}end;if t~=h then return{'superseded'}end;if f>redis.call('PTTL',c)then redis.call('PEXPIRE',c,f)end;local e=math.max(f,a)if e>redis.call('PTTL',d)then redis.call('PEXPIRE',d,e)end;return{'renewed'}end;local v={}for w=1,#KEYS/2 do v[w]=b(KEYS[2*w-1],KEYS[2*w],ARGV[2*w],tonumber(ARGV[2*w+1]))end;return v`,
}
