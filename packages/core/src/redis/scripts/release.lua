-- Frees each lock whose holder asks for it, or any holder's lock for an operator, and notifies its waiters.
-- @arg word      "released" or "revoked": announced, followed by the fence, and recorded
-- @key lock      the lock's entry
-- @key record    the fence record (see acquire.lua), where a repeat of the request finds how the lease ended
-- @each token    the holder's whole token; its acquisition id, to undo an acquire; the error WRONGTYPE, if not a lock
-- @each channel  where to announce it
-- @returns n                  freed, and n subscribers were notified; -1 if it could not be announced (no permission)
-- @returns {how, -2}          ended before; how is "released" or "revoked"
-- @returns {"gone"}           no entry, and no record of how it ended
-- @returns {"superseded"}     another's token, and no record of how this lease ended
-- @returns {"failed", error}  the server's own error about this key; WRONGTYPE: it is no longer a lock
local keys, args = KEYS, ARGV
local call, pcall, match, sub, word = redis.call, redis.pcall, string.match, string.sub, args[1]
-- See acquire.lua. Keys that this read shows as missing are read again.
local stored = #keys > 2 and #keys < 999 and pcall('MGET', unpack(keys)) or {}
local replies = {}

for i = 1, #keys / 2 do
  local lock, record, token, channel = keys[2 * i - 1], keys[2 * i], args[2 * i], args[2 * i + 1]
  local reply
  -- pcall, so that one key of another type does not fail the other leases.
  local holder = stored[2 * i - 1] or pcall('GET', lock)
  local failed = type(holder) == 'table'
  if failed then holder = holder.err end
  -- Neither an error nor a foreign holder's value has an acquisition id or a fence.
  local id, fence = match(holder or '', '^(.*)%.(%d+)$')
  -- Nor does a record that is missing or of another type, which must not keep a lock held.
  local last = tostring(stored[2 * i] or pcall('GET', record))

  if not holder or token ~= holder and token ~= id then
    local ended, how = match(last, '%.(%x+)%.(%a+)$')
    if ended and string.find(token, ended, 1, true) then
      reply = {how, -2}
    elseif failed then
      reply = {'failed', holder}
    else
      reply = {holder and 'superseded' or 'gone'}
    end
  -- DEL first: a full server refuses a SET before it and accepts one after it.
  elseif call('DEL', lock) == 0 then
    -- An earlier request of this call freed it.
    reply = {word, -2}
  else
    -- The record is about the last lease granted here, never about a foreign holder.
    local random, lastFence = sub(last, 1, 32), match(last, '^%.(%d+)', 33)
    if lastFence and id and random == sub(id, -32) then
      -- pcall, for a user without permission to SET.
      pcall('SET', record, random .. '.' .. lastFence .. '.' .. random .. '.' .. word, 'XX', 'KEEPTTL')
    end
    reply = pcall('PUBLISH', channel, word .. ' ' .. (fence and #fence <= 128 and fence or '-'))
    if type(reply) == 'table' then reply = -1 end
  end
  replies[i] = reply
end
return replies
