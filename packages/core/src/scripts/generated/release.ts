// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const release: Script<[word: string], [lock: string], [token: string, channel: string]> = {
  sha1: '485a36c1785db0fc936d0aba04651a0fb7ebfb7a',
  text: `local a=ARGV[1]local function b(c,d,e)local f=redis.pcall('GET',c)if not f then return{'gone'}end;local g,h=string.match(tostring(f),'^(.*)%.(%d+)$')if d~=''and d~=f and d~=g then return{'superseded'}end;redis.call('DEL',c)local i=redis.pcall('PUBLISH',e,a..' '..(h or'-'))return{'released',type(i)=='number'and i or-1}end;local j={}for k=1,#KEYS do j[k]=b(KEYS[k],ARGV[2*k],ARGV[2*k+1])end;return j`,
}
