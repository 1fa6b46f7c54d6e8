// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const renew: Script<[memory: string], [lock: string, record: string], [token: string, ttl: string]> = {
  sha1: '0688373dee20f6328463efec6c5c594abe5c0b44',
  text: `local a=tonumber(ARGV[1])local function b(c,d,e,f)local g=redis.pcall('GET',c)if type(g)=='table'then return{'failed',g.err}end;if not g then return{'gone'}end;if e~=g then return{'superseded'}end;if f>redis.call('PTTL',c)then redis.call('PEXPIRE',c,f)end;local h=math.max(f,a)if h>redis.call('PTTL',d)then redis.call('PEXPIRE',d,h)end;return{'renewed'}end;local i={}for j=1,#KEYS/2 do i[j]=b(KEYS[2*j-1],KEYS[2*j],ARGV[2*j],tonumber(ARGV[2*j+1]))end;return i`,
}
