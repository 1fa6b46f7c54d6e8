-- Extends each lease whose token is still the stored one; never re-creates an entry and never shortens an expiry.
-- @arg memory  milliseconds a fence record is kept at least
-- @key lock    the lock's entry
-- @key record  the fence record, kept as long as the lease it belongs to
-- @each token  the holder's whole token
-- @each ttl    milliseconds until the lock frees itself
-- @returns {"renewed"}        or more than ttl was left
-- @returns {"gone"}           no entry
-- @returns {"superseded"}     another's token
-- @returns {"failed", error}  the server's own about this key; WRONGTYPE is no lock any more
local memory = tonumber(ARGV[1])

local function renew(lock, record, token, ttl)
  -- Guarded, so that one key of another type does not fail the other leases.
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then return {'failed', holder.err} end
  if not holder then return {'gone'} end
  if token ~= holder then return {'superseded'} end
  if ttl > redis.call('PTTL', lock) then redis.call('PEXPIRE', lock, ttl) end
  -- Counted from this renewal, though the lock was extended for longer before.
  local kept = math.max(ttl, memory)
  if kept > redis.call('PTTL', record) then redis.call('PEXPIRE', record, kept) end
  return {'renewed'}
end

local replies = {}
for i = 1, #KEYS / 2 do
  replies[i] = renew(KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i], tonumber(ARGV[2 * i + 1]))
end
return replies
