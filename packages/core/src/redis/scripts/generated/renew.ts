// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const renew: Script<[memory: string], [lock: string, record: string], [token: string, ttl: string]> = {
  sha1: '464a4ff6daa04fe7d3bfa191b0d8d48764584580',
  text: `local a=tonumber(ARGV[1])local function b(c,d,u,f)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;if not h then return{'gone'}end;if u~=h then return{'superseded'}end;if f>redis.call('PTTL',c)then redis.call('PEXPIRE',c,f)end;local e=math.max(f,a)if e>redis.call('PTTL',d)then redis.call('PEXPIRE',d,e)end;return{'renewed'}end;local w={}for x=1,#KEYS/2 do w[x]=b(KEYS[2*x-1],KEYS[2*x],ARGV[2*x],tonumber(ARGV[2*x+1]))end;return w`,
}
