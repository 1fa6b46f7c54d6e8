-- Reads what a list shows of each lock, of any kind, and changes nothing.
-- @key lock      the lock's entry (see turns.part.lua for this and the following)
-- @key queue     who waits, in order
-- @key state     what is known of the lock
-- @each channel  where its releases are announced
-- @returns {"lock", kind, value, capacity, holders, pttl, waiting, listeners}  value is the only holder's token, or "";
--                               pttl is that of the last holder, -1 without expiry; listeners counts subscribers, -1 if
--                               that is not possible
-- @returns {"none"}             nobody holds it or waits for it
-- @returns {"failed", error}    the server's own error about a key; WRONGTYPE: something else is there
local call, pcall, match, floor = redis.call, redis.pcall, string.match, math.floor
local time = call('TIME')
local now = floor((time[1] * 1000000 + time[2]) / 1000)

local function read(lock, queue, state, channel)
  local value, kind, capacity, holders = pcall('GET', lock), 'exclusive', 1, 1
  if type(value) == 'table' then
    local last = match(value.err, 'WRONGTYPE') and pcall('ZRANGE', lock, -1, -1)
    if not last or last.err or not match(last[1] or '', '%x%.%d+ %d+$') then return {'failed', value.err} end
    holders = call('ZCOUNT', lock, '(' .. now, '+inf')
    value = holders == 1 and match(last[1], '^(.*) %d+$') or ''
  elseif not value then
    value, holders = '', 0
  end
  local waiting = pcall('ZCARD', queue)
  if type(waiting) == 'table' then return {'failed', waiting.err} end
  if holders == 0 and waiting == 0 then return {'none'} end
  local known = pcall('HMGET', state, 'kind', 'capacity')
  if not known.err and known[1] then kind, capacity = known[1], tonumber(known[2]) end
  -- pcall, for a user without permission.
  local counted = pcall('PUBSUB', 'NUMSUB', channel)
  return {'lock', kind, value, capacity, holders, call('PTTL', lock), waiting, counted.err and -1 or counted[2]}
end

local replies = {}
for i = 1, #ARGV do replies[i] = read(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i]) end
return replies
