-- Reads each lock without changing it.
-- @key lock                       the lock's entry
-- @returns {"held", pttl, value}  pttl -1 has no expiry
-- @returns {"free"}
-- @returns {"failed", error}      the server's own about this key; WRONGTYPE is something that is not a lock
local function read(lock)
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then return {'failed', holder.err} end
  if not holder then return {'free'} end
  return {'held', redis.call('PTTL', lock), holder}
end

local replies = {}
for i = 1, #KEYS do
  replies[i] = read(KEYS[i])
end
return replies
