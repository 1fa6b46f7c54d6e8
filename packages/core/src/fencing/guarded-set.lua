-- Writes each value unless a higher fence has written before, and remembers the highest fence beside the data.
-- @arg memory   the least time to remember a fence once the data can vanish, ms
-- @arg writer   random part that identifies the writing process
-- @key data     the guarded entry, a string
-- @key record   the last write: "<fence>.<writer>.<turn>"
-- @each fence   the fence of the holder who writes
-- @each turn    this write's number among those of its writer, kept through retries
-- @each value   what to write
-- @each ttl     milliseconds until the data expires; 0 deletes it, -1 keeps it forever
-- @returns {"stored"}           now or before; or the same writer with the same fence has overtaken this write
-- @returns {"fenced", highest}  a higher fence has written; nothing is changed
-- @returns {"other"}            an entry is of another kind; nothing is changed
local memory, writer = tonumber(ARGV[1]), ARGV[2]

local function isString(entry)
  local kind = redis.call('TYPE', entry).ok
  return kind == 'string' or kind == 'none'
end

local function write(data, record, fence, turn, value, ttl)
  -- Checked first, because SET would replace an entry of any kind.
  if not isString(data) or not isString(record) then return {'other'} end
  local last = redis.call('GET', record)
  if last then
    local highest, lastWriter, lastTurn = string.match(last, '^(%d+)%.(%x+)%.(%d+)$')
    if not highest then return {'other'} end
    if tonumber(fence) < tonumber(highest) then return {'fenced', highest} end
    -- A delayed request must not undo a later write of the same writer.
    if fence == highest and writer == lastWriter and turn <= tonumber(lastTurn) then return {'stored'} end
  end

  -- The record comes first: if the server refuses one of the two, no unguarded write has slipped through.
  -- %.0f, because Lua would concatenate a large number in scientific notation.
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
return replies
