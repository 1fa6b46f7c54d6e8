-- Reads each lock without changing it.
-- @key lock                       the lock's entry
-- @returns {"held", pttl, value}  pttl -1 has no expiry; value "" is something that is not a lock
-- @returns {"free"}
local function read(lock)
  local holder = redis.pcall('GET', lock)
  if not holder then return {'free'} end
  if type(holder) == 'table' then holder = '' end
  return {'held', redis.call('PTTL', lock), holder}
end

local replies = {}
for i = 1, #KEYS do
  replies[i] = read(KEYS[i])
end
return replies
