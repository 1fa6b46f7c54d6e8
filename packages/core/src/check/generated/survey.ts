// Generated from ../survey.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const survey: Script<[], [lock: string], []> = {
  sha1: '43d1ab59a4d87127b035b20ec52f8bc8ea35597a',
  text: `local a=redis.pcall('TIME')if a.err then return a end;local b=redis.pcall('INFO')if type(b)~='string'then b=''end;local i={}for j,h in ipairs(KEYS)do i[j]={'survey',a[1],a[2],b}end;return i`,
}
