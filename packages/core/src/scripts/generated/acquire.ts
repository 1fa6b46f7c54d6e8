// Generated from ../acquire.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const acquire: Script<[memory: string], [lock: string, record: string], [owner: string, ttl: string, fences: string]> = {
  sha1: 'fb8ae45b6adf37b52ab39ce83a7c33ae23dee4fe',
  text: `local memory = tonumber(ARGV[1])
local now = redis.call('TIME')
local micros = now[1] * 1000000 + now[2]
local function acquire(lock, record, owner, ttl, fences)
local holder = redis.pcall('GET', lock)
if type(holder) == 'table' then return {'other'} end
if holder then
local pttl = redis.call('PTTL', lock)
if string.match(holder, '^(.*)%.') ~= owner then
return {'held', pttl, string.match(holder, '%.(%d+)$') or '-'}
end
if ttl > pttl then
redis.call('PEXPIRE', lock, ttl)
redis.call('PEXPIRE', record, math.max(ttl, memory))
end
return {'granted', holder}
end
local random = string.sub(owner, -32)
local lastRandom, lastFence = string.match(redis.call('GET', record) or '', '^(.*)%.(%d+)$')
if lastRandom == random then return {'spent'} end
local fence = math.max((lastFence or 0) + 1, micros)
local token = string.format('%s.%.0f', owner, fence)
redis.call('SET', lock, token, 'PX', ttl)
redis.call('SET', record, string.format('%s.%.0f', random, fence + fences - 1), 'PX', math.max(ttl, memory))
return {'granted', token}
end
local replies = {}
for i = 1, #KEYS / 2 do
local owner, ttl, fences = ARGV[3 * i - 1], tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
replies[i] = acquire(KEYS[2 * i - 1], KEYS[2 * i], owner, ttl, fences)
end
return replies`,
}
