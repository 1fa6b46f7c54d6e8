-- Stores the result of a run in its record, and frees the lock if the run still has it. The record decides which run it
-- belongs to.
-- @key lock          the lock's entry
-- @key fences        the fence record (see acquire.lua)
-- @key record        the key's record (see claim.lua)
-- @each token        the run's whole token
-- @each fingerprint  that of its claim
-- @each state        "done", or "too-large": then there is no result
-- @each result       base64
-- @each keep         milliseconds until the record is forgotten
-- @each channel      where to announce that the lock is free
-- @returns {"completed", n}               done, and n subscribers were told that the lock is free; -1 if that could not be announced,
--                                         -2 if the run no longer had the lock, or the record was done before
-- @returns {"superseded", record, pttl}   another run's
-- @returns {"gone"}                       no record, and the lock is not the run's
-- @returns {"failed", error}              the server's own error about the record; WRONGTYPE: something else is there
-- @returns {"other"}                      the record is none of ours
local call, pcall, match = redis.call, redis.pcall, string.match
local lock, fences, record = unpack(KEYS)
local token, fingerprint, state, result, keep, channel = unpack(ARGV)

local function complete()
  local holder, stored = pcall('GET', lock), pcall('GET', record)
  if type(stored) == 'table' then return {'failed', stored.err} end
  local present, owner = match(stored or '', '^(%S+) (%S+) %S')
  if stored and not owner then return {'other'} end
  if owner == token and present ~= 'running' then return {'completed', -2} end
  -- If the record is lost, the lock still proves that nobody else has claimed the key.
  if stored and owner ~= token then return {'superseded', stored, call('PTTL', record)} end
  if not stored and holder ~= token then return {'gone'} end

  -- A full server refuses a result, before anything has changed. After a DEL, it accepts what is as small as the claim
  -- was.
  if state ~= 'done' then call('DEL', record) end
  local set = pcall('SET', record, state .. ' ' .. token .. ' ' .. fingerprint .. ' ' .. result, 'PX', keep)
  if set.err then return set end
  local told = -2
  if holder == token then
    call('DEL', lock)
    local random, fence = match(token, '(%x+)%.(%d+)$')
    local base, last = match(tostring(pcall('GET', fences)), '^((%x+)%.%d+)')
    -- pcall, as in release.lua.
    if last == random then pcall('SET', fences, base .. '.' .. random .. '.released', 'XX', 'KEEPTTL') end
    told = pcall('PUBLISH', channel, 'released ' .. fence)
    if type(told) ~= 'number' then told = -1 end
  end
  return {'completed', told}
end

local reply = complete()
return reply.err and reply or {reply}
