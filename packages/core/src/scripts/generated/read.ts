// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const read: Script<[], [lock: string], []> = {
  sha1: 'f01fde2027c33c564867028cdb71f14f5038f3c9',
  text: `local function x(c)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;if not h then return{'free'}end;return{'held',redis.call('PTTL',c),h}end;local v={}for w=1,#KEYS do v[w]=x(KEYS[w])end;return v`,
}
