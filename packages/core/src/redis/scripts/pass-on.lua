-- Frees each lock whose holder asks for it and, if that reaches no subscriber, grants it to the next acquisition of the
-- same process.
-- @arg memory    the least time to keep a fence record, ms
-- @key lock      the lock's entry
-- @key record    the fence record (see acquire.lua)
-- @each token    the holder's whole token
-- @each channel  where to announce the release
-- @each id       the next acquisition id
-- @each ttl      milliseconds until the next lease frees itself
-- @each fences   how many consecutive fences to reserve for it
-- @returns {released, token}  released is what release.lua would return; token the next lease's, granted now or before
-- @returns {released, false}  nothing is granted
local call, pcall, match = redis.call, redis.pcall, string.match
local memory = ARGV[1]

local function passOn(lock, record, token, channel, id, ttl, fences)
  -- pcall, so that one key of another type does not fail the other requests.
  local holder, last = pcall('GET', lock), pcall('GET', record)
  if type(holder) == 'table' then return {{'failed', holder.err}, false} end
  local ofOtherType = type(last) == 'table'
  -- A record that is missing or of another type must not keep a lock held.
  last = not ofOtherType and last or ''
  if token ~= holder then
    -- A repeat finds how the lease ended, and its own grant if there was one.
    local ended, how = match(last, '%.(%x+)%.(%a+)$')
    local before = ended and string.find(token, ended, 1, true)
    local granted = holder and match(holder, '^(.*)%.%d+$') == id
    return {before and {how, -2} or {holder and 'superseded' or 'gone'}, granted and holder}
  end

  -- DEL first: a full server refuses a SET before it and accepts one after it.
  call('DEL', lock)
  local random, fence = match(token, '(%x+)%.(%d+)$')
  local told = pcall('PUBLISH', channel, 'released ' .. fence)
  if type(told) ~= 'number' then told = -1 end
  local lastRandom, lastFence = match(last, '^(%x+)%.(%d+)')
  local ending = '.' .. random .. '.released'
  -- Subscribers that heard of the release get their chance. A record of another type is in the way of every grant.
  if told == 0 and not ofOtherType then
    local now = call('TIME')
    local next = math.max((lastFence or fence) + 1, now[1] * 1000000 + now[2])
    local granted = string.format('%s.%.0f', id, next)
    local minted = string.format('%s.%.0f', string.sub(id, -32), next + fences - 1)
    -- pcall, for a user without permission to SET: the lock is free nevertheless.
    local set = pcall('SET', lock, granted, 'PX', ttl)
    if set.ok then
      call('SET', record, minted .. ending, 'PX', tonumber(ttl) > tonumber(memory) and ttl or memory)
      return {told, granted}
    end
  end
  if lastRandom == random then pcall('SET', record, random .. '.' .. lastFence .. ending, 'XX', 'KEEPTTL') end
  return {told, false}
end

local replies = {}
for i = 1, #KEYS / 2 do
  local at = 5 * i - 3
  replies[i] = passOn(KEYS[2 * i - 1], KEYS[2 * i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
end
return replies
