// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const renew: Script<[memory: string], [lock: string, record: string], [token: string, ttl: string]> = {
  sha1: '83a04b9ad94c558c8e070907409f61e076b0177c',
  text: `local a=tonumber(ARGV[1])local function b(c,d,e,f)local g=redis.pcall('GET',c)if type(g)=='table'then return{'failed',g.err}end;if not g then return{'gone'}end;if e~=g then return{'superseded'}end;if f>redis.call('PTTL',c)then redis.call('PEXPIRE',c,f)redis.call('PEXPIRE',d,math.max(f,a))end;return{'renewed'}end;local h={}for i=1,#KEYS/2 do h[i]=b(KEYS[2*i-1],KEYS[2*i],ARGV[2*i],tonumber(ARGV[2*i+1]))end;return h`,
}
