// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const read: Script<[], [lock: string], []> = {
  sha1: '50cc75da614237a6e1fa5ad64572794c5eb8e30c',
  text: `local function a(b)local c=redis.pcall('GET',b)if type(c)=='table'then return{'failed',c.err}end;if not c then return{'free'}end;return{'held',redis.call('PTTL',b),c}end;local d={}for e=1,#KEYS do d[e]=a(KEYS[e])end;return d`,
}
