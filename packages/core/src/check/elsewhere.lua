-- Looks at some two thousand keys for the fence records of locks, which outlive them by minutes, and changes nothing.
-- @arg prefix  what the name of a lock of this store begins with
-- @key node    any key that lies on the node to look at
-- @returns {"seen", lock}  a lock under the prefix, or else one under another prefix; "" if neither was seen
local prefix, node = ARGV[1], KEYS[1]
local cursor, seen = '0', ''
for _ = 1, node and 4 do
  local reply = redis.pcall('SCAN', cursor, 'MATCH', '{*}*:fence', 'COUNT', 500)
  -- Not every user may look.
  if reply.err then break end
  cursor = reply[1]
  for _, name in ipairs(reply[2]) do
    local lock = string.match(name, '^{([^}]+)}:fence$') or string.match(name, '^{[^}]+}:(.+):fence$')
    -- Checks leave such records, too, under any prefix.
    if lock and not string.find(lock, 'leasehold-check:', 1, true) then
      if string.sub(lock, 1, #prefix) == prefix then return {{'seen', lock}} end
      seen = lock
    end
  end
  if cursor == '0' then break end
end
return {{'seen', seen}}
