// Generated from ../survey.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const survey: Script<[], [lock: string], []> = {
  sha1: '1ff6ae8d3a7c1c20dcd3bf7a03bd34486f022e34',
  text: `local a=redis.pcall('TIME')if a.err then return a end;local b=redis.pcall('INFO')if type(b)~='string'then b=''end;local i={}for j,c in ipairs(KEYS)do i[j]={'survey',a[1],a[2],b}end;return i`,
}
