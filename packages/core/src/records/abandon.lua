-- Undoes the claim of a run and frees the lock, as if the run had never been: its record is deleted or, if it replaced
-- a run in doubt, becomes that run's again: nobody has said what that run did. A completed record stays.
-- @key lock      the lock's entry
-- @key fences    the fence record (see acquire.lua), where a repeat finds that it was carried out
-- @key record    the key's record (see claim.lua)
-- @each token    the run's whole token; its acquisition id, to undo a claim
-- @each channel  where to announce that the lock is free
-- @returns {"abandoned", n}               n subscribers were told; -1 if it could not be announced, -2 if the run no longer had the lock,
--                                         or it was abandoned before
-- @returns {"completed"}                  the run has completed its record
-- @returns {"superseded", record, pttl}   another run's
-- @returns {"gone"}                       no record, and the lock is not the run's
-- @returns {"failed", error}              the server's own error about the record; WRONGTYPE: something else is there
-- @returns {"other"}                      the record is none of ours
local call, pcall, match = redis.call, redis.pcall, string.match
local lock, fences, record = unpack(KEYS)
local token, channel = unpack(ARGV)

local function isMine(value)
  return type(value) == 'string' and (value == token or match(value, '^(.*)%.%d+$') == token)
end

local function abandon()
  local holder, last, stored = pcall('GET', lock), tostring(pcall('GET', fences)), pcall('GET', record)
  if type(stored) == 'table' then return {'failed', stored.err} end
  local state, owner, print, more = match(stored or '', '^(%S+) (%S+) (%S+) ?(.*)$')
  if stored and not owner then return {'other'} end
  local hasRecord, hasLock = isMine(owner), isMine(holder)
  if hasRecord and state ~= 'running' then return {'completed'} end
  if not hasRecord and not hasLock then
    local ended, how = match(last, '%.(%x+)%.(%a+)$')
    if how == 'released' and string.find(token, ended, 1, true) then return {'abandoned', -2} end
    if stored then return {'superseded', stored, call('PTTL', record)} end
    return {'gone'}
  end

  local random, fence = match(hasRecord and owner or holder, '(%x+)%.(%d+)$')
  if hasRecord then
    local left, before, first = call('PTTL', record), match(more, '^(%S+) ?(%S*)')
    -- A full server refuses a SET, unless something was deleted before.
    call('DEL', record)
    if before then call('SET', record, 'running ' .. before .. ' ' .. print .. ' ' .. first) end
    if before and left >= 0 then call('PEXPIRE', record, left) end
  end
  if hasLock then call('DEL', lock) end
  local base, lastRandom = match(last, '^((%x+)%.%d+)')
  -- pcall, as in release.lua.
  if lastRandom == random then pcall('SET', fences, base .. '.' .. random .. '.released', 'XX', 'KEEPTTL') end
  local told = hasLock and pcall('PUBLISH', channel, 'released ' .. fence) or -2
  return {'abandoned', type(told) == 'number' and told or -1}
end

return {abandon()}
