-- Takes each lock from the holder that asks for it, and frees it later; until then nobody holds it.
-- @key lock      the lock's entry (see acquire.lua)
-- @key record    the fence record, where a repeat of the request finds that the lease was released
-- @each token    the holder's whole token
-- @each after    milliseconds until the lock is free
-- @each channel  where to announce it: waiters learn of the new expiry
-- @returns n                  done, and n subscribers were notified; -1 if it could not be announced (no permission)
-- @returns {how, -2}          ended before; how is "released" or "revoked"
-- @returns {"gone"}           no entry, and no record of how it ended
-- @returns {"superseded"}     another's token, and no record of how this lease ended
-- @returns {"failed", error}  the server's own error about this key; WRONGTYPE: it is no longer a lock
local call, pcall, match = redis.call, redis.pcall, string.match

local function releaseAfter(lock, record, token, after, channel)
  local holder = pcall('GET', lock)
  if type(holder) == 'table' then return {'failed', holder.err} end
  local last = tostring(pcall('GET', record))
  local name, random, fence = match(token, '^(.-)(%x+)%.(%d+)$')
  if token ~= holder or not fence then
    local ended, how = match(last, '%.(%x+)%.(%a+)$')
    if ended and ended == random then return {how, -2} end
    return {holder and 'superseded' or 'gone'}
  end
  -- A full server refuses a SET, but not after a command that takes no memory. Neither SET here takes more than before.
  call('PEXPIRE', lock, after)
  -- pcall, for a user without permission to SET.
  pcall('SET', lock, name .. string.rep('0', 32) .. '.' .. fence, 'XX', 'KEEPTTL')
  local base, lastRandom = match(last, '^((%x+)%.%d+)')
  if random == lastRandom then pcall('SET', record, base .. '.' .. random .. '.released', 'XX', 'KEEPTTL') end
  local told = pcall('PUBLISH', channel, 'released ' .. fence)
  return type(told) == 'table' and -1 or told
end

local replies = {}
for i = 1, #KEYS / 2 do
  replies[i] = releaseAfter(KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i])
end
return replies
