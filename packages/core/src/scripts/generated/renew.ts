// Generated from ../renew.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const renew: Script<[memory: string], [lock: string, record: string], [token: string, ttl: string]> = {
  sha1: '83082d0a583c1b9151a1e98457ebb1078eb10f1c',
  text: `local memory = tonumber(ARGV[1])
local function renew(lock, record, token, ttl)
local holder = redis.pcall('GET', lock)
if not holder then return 'gone' end
if holder ~= token then return 'superseded' end
if ttl > redis.call('PTTL', lock) then
redis.call('PEXPIRE', lock, ttl)
redis.call('PEXPIRE', record, math.max(ttl, memory))
end
return 'renewed'
end
local replies = {}
for i = 1, #KEYS / 2 do
replies[i] = {renew(KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i], tonumber(ARGV[2 * i + 1]))}
end
return replies`,
}
