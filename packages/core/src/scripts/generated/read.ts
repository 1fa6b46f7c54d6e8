// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const read: Script<[], [lock: string], []> = {
  sha1: '3908402871f2cee676c6d908fe29bf48c056e405',
  text: `local function a(b)local c=redis.pcall('GET',b)if not c then return{'free'}end;if type(c)=='table'then c=''end;return{'held',redis.call('PTTL',b),c}end;local d={}for e=1,#KEYS do d[e]=a(KEYS[e])end;return d`,
}
