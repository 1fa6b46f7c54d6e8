-- Reads each lock without changing it.
-- @arg part                      the part of a holder's value to return: "fence", or the whole "value"
-- @key lock                      the lock's entry
-- @returns {"held", pttl, part}  pttl -1: no expiry; fence "-": a foreign holder's value
-- @returns {"free"}
-- @returns {"failed", error}     the server's own error about this key; WRONGTYPE: it is not a lock
local part = ARGV[1]

local function read(lock)
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then return {'failed', holder.err} end
  -- For a free lock, too, so that a user without permission finds out with any key.
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
