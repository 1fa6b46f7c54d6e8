// Generated from ../guarded-set.lua; run `pnpm generate`.
import type { Script } from '../../scripts/script.ts'

export const guardedSet: Script<[memory: string, writer: string], [data: string, record: string], [fence: string, turn: string, value: string, ttl: string]> = {
  sha1: 'd5b70e7f3eefc217cba969e94126d73e008ab793',
  text: `local memory, writer = tonumber(ARGV[1]), ARGV[2]
local function isString(entry)
local kind = redis.call('TYPE', entry).ok
return kind == 'string' or kind == 'none'
end
local function write(data, record, fence, turn, value, ttl)
if not isString(data) or not isString(record) then return {'other'} end
local last = redis.call('GET', record)
if last then
local highest, lastWriter, lastTurn = string.match(last, '^(%d+)%.(%x+)%.(%d+)$')
if not highest then return {'other'} end
if tonumber(fence) < tonumber(highest) then return {'fenced', highest} end
if fence == highest and writer == lastWriter and turn <= tonumber(lastTurn) then return {'stored'} end
end
local wrote = string.format('%s.%s.%.0f', fence, writer, turn)
if ttl < 0 then
redis.call('SET', record, wrote)
redis.call('SET', data, value)
else
redis.call('SET', record, wrote, 'PX', math.max(ttl, memory))
if ttl > 0 then redis.call('SET', data, value, 'PX', ttl) else redis.call('DEL', data) end
end
return {'stored'}
end
local replies = {}
for i = 1, #KEYS / 2 do
local fence, turn, value, ttl = unpack(ARGV, 4 * i - 1, 4 * i + 2)
replies[i] = write(KEYS[2 * i - 1], KEYS[2 * i], fence, tonumber(turn), value, tonumber(ttl))
end
return replies`,
}
