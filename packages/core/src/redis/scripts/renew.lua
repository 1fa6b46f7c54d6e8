-- Extends each lease whose token is still the stored one; never re-creates an entry and never shortens an expiry.
-- @arg memory  the least time to keep a fence record, ms
-- @key lock    the lock's entry
-- @key record  the fence record, kept at least as long as its lease
-- @each token  the holder's whole token
-- @each ttl    milliseconds until the lock frees itself
-- @returns "renewed"          even if more than ttl was left
-- @returns {"gone"}           no entry
-- @returns {"superseded"}     another's token
-- @returns {"failed", error}  the server's own error about this key; WRONGTYPE: it is no longer a lock
local memory = tonumber(ARGV[1])
local call = redis.call

local function renew(lock, record, token, ttl)
  -- pcall, so that one key of another type does not fail the other leases.
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then return {'failed', holder.err} end
  if not holder then return {'gone'} end
  if token ~= holder then return {'superseded'} end
  local ms = tonumber(ttl)
  if ms > call('PTTL', lock) then call('PEXPIRE', lock, ttl) end
  -- Counted from this renewal, even if the lock was extended for longer before.
  local kept, keptMs = ttl, ms
  if ms < memory then kept, keptMs = ARGV[1], memory end
  if keptMs > call('PTTL', record) then call('PEXPIRE', record, kept) end
  return 'renewed'
end

local replies = {}
for i = 1, #KEYS / 2 do
  replies[i] = renew(KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i], ARGV[2 * i + 1])
end
return replies
