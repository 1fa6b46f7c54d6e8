// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const read: Script<[part: string], [lock: string], []> = {
  sha1: '5158bb1e919f07248d5b92e00f79085e4aece452',
  text: `local a=ARGV[1]local function b(c)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;local k=redis.call('PTTL',c)if not h then return{'free'}end;if a=='fence'then h=string.match(h,'%.(%d+)$')if not h or#h>128 then h='-'end end;return{'held',k,h}end;local w={}for x=1,#KEYS do w[x]=b(KEYS[x])end;return w`,
}
