// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const read: Script<[part: string], [lock: string], []> = {
  sha1: 'b1f0b5ef477729474c2e2ed6a08050055676bb63',
  text: `local a=ARGV[1]local function b(p)local v=redis.pcall('GET',p)if type(v)=='table'then return{'failed',v.err}end;local G=redis.call('PTTL',p)if not v then return{'free'}end;if a=='fence'then v=string.match(v,'%.(%d+)$')if not v or#v>128 then v='-'end end;return{'held',G,v}end;local j={}for o=1,#KEYS do j[o]=b(KEYS[o])end;return j`,
}
