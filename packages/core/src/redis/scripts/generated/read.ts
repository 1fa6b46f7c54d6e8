// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const read: Script<[part: string], [lock: string], []> = {
  sha1: 'b99ac306a4cd2e52ee847571434ac71d59a16739',
  text: `local a=ARGV[1]local function b(c)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;local k=redis.call('PTTL',c)if not h then return{'free'}end;if a=='fence'then h=string.match(h,'%.(%d+)$')if not h or#h>128 then h='-'end end;return{'held',k,h}end;local v={}for w=1,#KEYS do v[w]=b(KEYS[w])end;return v`,
}
