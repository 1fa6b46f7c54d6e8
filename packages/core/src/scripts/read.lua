-- Reads each lock without changing it.
-- @key lock                 the lock's entry
-- @returns {"held", value, pttl}  pttl -1 has no expiry; value "" is something that is not a lock
-- @returns {"free"}
local replies = {}
for i, lock in ipairs(KEYS) do
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then holder = '' end
  replies[i] = holder and {'held', holder, redis.call('PTTL', lock)} or {'free'}
end
return replies
