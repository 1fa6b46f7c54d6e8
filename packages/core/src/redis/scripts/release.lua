-- Frees each lock whose holder asks for it, or any holder's lock for an operator, and tells its waiters.
-- @arg word      "released" or "revoked": announced, followed by the fence, and recorded
-- @key lock      the lock's entry
-- @key record    the fence record (see acquire.lua), where a repeat of the request finds how the lease ended
-- @each token    the holder's whole token; its acquisition id, to undo an acquire; the error WRONGTYPE, for what is not a lock
-- @each channel  where to announce it
-- @returns {word, n}          freed, and n subscribers were told; -1 if it could not be announced (no permission)
-- @returns {how, -2}          "released" or "revoked" before
-- @returns {"gone"}           no entry, and no record of how it ended
-- @returns {"superseded"}     another's token, and no record of how this one's lease ended
-- @returns {"failed", error}  the server's own error about this key; WRONGTYPE: it is not a lock any more
local word = ARGV[1]

local function release(lock, record, token, channel)
  -- pcall, so that one key of another type does not fail the other leases.
  local holder = redis.pcall('GET', lock)
  local failed = type(holder) == 'table'
  if failed then holder = holder.err end
  -- Neither an error nor a foreign holder's value has an acquisition id or a fence.
  local id, fence = string.match(holder or '', '^(.*)%.(%d+)$')
  -- Nor does a record that is missing or of another type; no lock stays held because of it.
  local last = tostring(redis.pcall('GET', record))

  if not holder or token ~= holder and token ~= id then
    local ended, how = string.match(last, '%.(%x+)%.(%a+)$')
    if ended and string.find(token, ended, 1, true) then return {how, -2} end
    if failed then return {'failed', holder} end
    return {holder and 'superseded' or 'gone'}
  end

  -- DEL first: a full server refuses a SET before it and accepts one after it.
  redis.call('DEL', lock)
  local base, random = string.match(last, '^((%x+)%.%d+)')
  -- The record is about the last of our grants, not about a foreign holder.
  if id and random == string.sub(id, -32) then
    -- pcall, for a user without permission to SET.
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
