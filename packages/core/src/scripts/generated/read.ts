// Generated from ../read.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const read: Script<[], [lock: string], []> = {
  sha1: '6e1b6c5e30237f68844aa6b5753212709b012bd1',
  text: `local replies = {}
for i, lock in ipairs(KEYS) do
local holder = redis.pcall('GET', lock)
if type(holder) == 'table' then holder = '' end
replies[i] = holder and {'held', holder, redis.call('PTTL', lock)} or {'free'}
end
return replies`,
}
