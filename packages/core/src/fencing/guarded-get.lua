-- Reads each entry unless a higher fence was seen before, and remembers the fence, so that no lower one writes later.
-- @arg memory   the least time to remember a fence once the data can vanish, ms
-- @key data     the guarded entry, a string
-- @key record   the last write: see guarded-set.lua
-- @each fence   the fence of the holder who reads
-- @returns {"read", text}       the data after "=", or an empty text if there is none
-- @returns {"fenced", highest}  a higher fence was seen before; nothing is changed
-- @returns {"other"}            an entry is of another kind; nothing is changed
local memory = tonumber(ARGV[1])

local function isString(entry)
  local kind = redis.call('TYPE', entry).ok
  return kind == 'string' or kind == 'none'
end

local function read(data, record, fence)
  if not isString(data) or not isString(record) then return {'other'} end
  local last = redis.call('GET', record)
  local highest = last and string.match(last, '^(%d+)%.%x+%.%d+$')
  if last and not highest then return {'other'} end
  if highest and tonumber(fence) < tonumber(highest) then return {'fenced', highest} end
  -- With the same fence the record stays as it is, because it says which of its writer's writes was the last.
  if fence ~= highest then
    local left, kept = redis.call('PTTL', data), redis.call('PTTL', record)
    if left == -1 then
      redis.call('SET', record, fence .. '.0.0')
    else
      redis.call('SET', record, fence .. '.0.0', 'PX', math.max(left, kept, memory))
    end
  end
  local value = redis.call('GET', data)
  return {'read', value and '=' .. value or ''}
end

local replies = {}
for i = 1, #KEYS / 2 do replies[i] = read(KEYS[2 * i - 1], KEYS[2 * i], ARGV[i + 1]) end
return replies
