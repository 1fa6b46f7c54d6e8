-- Reads each lock without changing it.
-- @arg part                      what of a holder's value is wanted: "fence", or the whole "value"
-- @key lock                      the lock's entry
-- @returns {"held", pttl, part}  pttl -1 has no expiry; fence "-" for a foreign holder's value
-- @returns {"free"}
-- @returns {"failed", error}     the server's own about this key; WRONGTYPE is something that is not a lock
local part = ARGV[1]

local function read(lock)
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then return {'failed', holder.err} end
  -- Also for a lock that is free, so that a user who may not ask learns of it from any key.
  local pttl = redis.call('PTTL', lock)
  if not holder then return {'free'} end
  if part == 'fence' then
    holder = string.match(holder, '%.(%d+)$')
    if not holder or #holder > 128 then holder = '-' end
  end
  return {'held', pttl, holder}
end

local replies = {}
for i = 1, #KEYS do
  replies[i] = read(KEYS[i])
end
return replies
