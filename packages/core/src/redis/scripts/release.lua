-- Frees each lock whose holder asks for it, or whoever holds it for an operator, and tells those who wait for it.
-- @arg word      what is announced, followed by the fence, and marked in the record: "released" or "revoked"
-- @key lock      the lock's entry
-- @key record    the fence record, where a repeat of the request finds how the lease ended; its form is in acquire.lua
-- @each token    the holder's whole token, or value; its acquisition id, to undo an acquire; for what is no lock, the error WRONGTYPE
-- @each channel  where it is announced
-- @returns {word, n}          and n subscribers were told; -1 if it could not be announced (no permission)
-- @returns {how, -2}          it was "released" or "revoked" before
-- @returns {"gone"}           no entry, and nobody knows how it ended
-- @returns {"superseded"}     another's token, and nobody knows how this one's lease ended
-- @returns {"failed", error}  the server's own about this key; WRONGTYPE is no lock any more
local word = ARGV[1]

local function release(lock, record, token, channel)
  -- Guarded, so that one key of another type does not fail the other leases.
  local holder = redis.pcall('GET', lock)
  local failed = type(holder) == 'table'
  if failed then holder = holder.err end
  -- Neither an error nor a foreign holder's value has an acquisition id or a fence.
  local id, fence = string.match(holder or '', '^(.*)%.(%d+)$')
  -- A record that is missing, or of another type, has no such form either. No lock stays held for it.
  local last = tostring(redis.pcall('GET', record))

  if not holder or token ~= holder and token ~= id then
    local ended, how = string.match(last, '%.(%x+)%.(%a+)$')
    if ended and string.find(token, ended, 1, true) then return {how, -2} end
    if failed then return {'failed', holder} end
    return {holder and 'superseded' or 'gone'}
  end

  -- DEL first: a full server refuses a SET before it, and takes one after it.
  redis.call('DEL', lock)
  local base, random = string.match(last, '^((%x+)%.%d+)')
  -- A record is about the last of our grants: not about a foreign holder.
  if id and random == string.sub(id, -32) then
    -- Guarded, for a user who may not write.
    redis.pcall('SET', record, base .. '.' .. random .. '.' .. word, 'XX', 'KEEPTTL')
  end
  local told = redis.pcall('PUBLISH', channel, word .. ' ' .. (fence and #fence <= 128 and fence or '-'))
  return {word, type(told) == 'number' and told or -1}
end

local replies = {}
for i = 1, #KEYS / 2 do
  replies[i] = release(KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i], ARGV[2 * i + 1])
end
return replies
