-- Frees each lock whose holder asks for it, or whoever holds it for an operator, and tells those who wait for it.
-- @arg word      what is announced: "released" or "revoked", followed by the fence
-- @key lock      the lock's entry
-- @each token    the holder's whole token, or value; its owner, to undo an acquire; empty for what is no lock
-- @each channel  where it is announced
-- @returns {"released", n}  and n subscribers were told; -1 if it could not be announced (no permission)
-- @returns {"gone"}         no entry
-- @returns {"superseded"}   another's token, or no lock any more
local word = ARGV[1]

local function release(lock, token, channel)
  -- Guarded, so that one key of another type does not fail the other leases.
  local holder = redis.pcall('GET', lock)
  if not holder then return {'gone'} end
  -- What is no string has neither owner nor fence.
  local owner, fence = string.match(tostring(holder), '^(.*)%.(%d+)$')
  if token ~= '' and token ~= holder and token ~= owner then return {'superseded'} end
  -- DEL first and PUBLISH guarded: a full server and a missing permission must not keep a lock held.
  redis.call('DEL', lock)
  local told = redis.pcall('PUBLISH', channel, word .. ' ' .. (fence or '-'))
  return {'released', type(told) == 'number' and told or -1}
end

local replies = {}
for i = 1, #KEYS do
  replies[i] = release(KEYS[i], ARGV[2 * i], ARGV[2 * i + 1])
end
return replies
