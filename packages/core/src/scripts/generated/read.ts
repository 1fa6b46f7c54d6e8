// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const read: Script<[], [lock: string], []> = {
  sha1: '7fe9a9b367789aaa439347179e19274792ae5028',
  text: `local function a(c)local h=redis.pcall('GET',c)if type(h)=='table'then return{'failed',h.err}end;if not h then return{'free'}end;return{'held',redis.call('PTTL',c),h}end;local v={}for w=1,#KEYS do v[w]=a(KEYS[w])end;return v`,
}
