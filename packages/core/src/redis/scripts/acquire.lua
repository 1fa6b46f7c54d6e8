-- Grants each free lock to the acquisition that asks for it, and mints the grant's fence in the same step.
-- @arg memory   how long to keep a fence record, at least, ms
-- @key lock     the lock's entry: the holder's token, "<acquisition id>.<fence>"
-- @key record   the fence record: "<random part of the last grant's acquisition id>.<last fence reserved>"; after a release
--               or revocation, how the last of these went: ".<random part of its acquisition id>.<released|revoked>"
-- @each id       the acquisition id: name and random part, kept through retries
-- @each ttl     milliseconds until the lock frees itself
-- @each fences  how many consecutive fences to reserve; the token carries the first
-- @returns {"granted", token}      now, or before: then the expiry is extended, and never shortened
-- @returns {"held", pttl, fence, name}  by another; pttl -1 means no expiry, fence "-" a foreign holder's value, name "" none
-- @returns {"spent"}               this acquisition's grant came and went; nothing is granted
-- @returns {"failed", error}       the server's own error about the key or its record; WRONGTYPE: something else is there
local memory = tonumber(ARGV[1])

local function acquire(lock, record, id, ttl, fences)
  -- pcall, so that one key of another type does not fail the other requests.
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then return {'failed', holder.err} end
  if holder then
    local holdersId, holdersFence = string.match(holder, '^(.*)%.(%d+)$')
    local pttl = redis.call('PTTL', lock)
    if id ~= holdersId then
      -- A foreign holder's number may have any length; a cursor has at most 128 characters.
      -- Only what is before 32 random digits is a name: of a foreign holder's value nothing is told.
      local name, random = string.match(holdersId or '', '^([%w_-]+)%.(%x+)$')
      return {'held', pttl, holdersFence and #holdersFence <= 128 and holdersFence or '-', name and #random == 32 and name or ''}
    end
    if ttl > pttl then
      redis.call('PEXPIRE', lock, ttl)
      redis.call('PEXPIRE', record, math.max(ttl, memory))
    end
    return {'granted', holder}
  end

  local last = redis.pcall('GET', record)
  if type(last) == 'table' then return {'failed', last.err} end
  local random = string.sub(id, -32)
  local lastRandom, lastFence, ending = string.match(last or '', '^(%x+)%.(%d+)(.*)$')
  if lastRandom == random then return {'spent'} end

  local now = redis.call('TIME')
  local micros = now[1] * 1000000 + now[2]
  local fence = math.max((lastFence or 0) + 1, micros)
  -- %.0f, because Lua would concatenate a large number in scientific notation.
  local token = string.format('%s.%.0f', id, fence)
  -- The ending is carried over: a repeat of the request that ended that lease may come while the next holder has the lock.
  local minted = string.format('%s.%.0f%s', random, fence + fences - 1, ending or '')
  redis.call('SET', lock, token, 'PX', ttl)
  redis.call('SET', record, minted, 'PX', math.max(ttl, memory))
  return {'granted', token}
end

local replies = {}
for i = 1, #KEYS / 2 do
  replies[i] = acquire(KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i - 1], tonumber(ARGV[3 * i]), ARGV[3 * i + 1])
end
return replies
