-- Grants each free lock to the acquisition that asks for it, and mints the grant's fence in the same step.
-- @arg memory   the least time to keep a fence record, ms
-- @key lock     the lock's entry: the holder's token, "<acquisition id>.<fence>"
-- @key record   the fence record: "<random part of the last grant's acquisition id>.<last fence reserved>"; after a
--               release or revocation, it goes on with how the last of these went:
--               ".<random part of its acquisition id>.<released|revoked>"
-- @each id      the acquisition id: name and random part, kept through retries
-- @each ttl     milliseconds until the lock frees itself
-- @each fences  how many consecutive fences to reserve; the token carries the first
-- @returns token                   granted, now or before; if before, the expiry is extended, never shortened
-- @returns {"held", pttl, fence, name}  by another; pttl -1: no expiry, fence "-": a foreign holder, name "": none
-- @returns {"spent"}               this acquisition's grant came and went; nothing is granted
-- @returns {"failed", error}       the server's own error about the key or its record; WRONGTYPE: it is something else
local keys, args = KEYS, ARGV
local call, pcall, match, sub, format = redis.call, redis.pcall, string.match, string.sub, string.format
local memory = tonumber(args[1])
-- One read for all requests. It shows a key of another type as missing. If it is refused as a whole, for lack of a
-- permission, each request reads its own keys. So does a single request, for which two GETs are cheaper, and so do more
-- requests than `unpack` can take.
local stored = #keys > 2 and #keys < 999 and pcall('MGET', unpack(keys)) or {}
local replies = {}
local micros, minted, reserved, upTo

-- Inline, because a function would cost a single request more than reading a key does.
for i = 1, #keys / 2 do
  local lock, record, id, ttl, fences = keys[2 * i - 1], keys[2 * i], args[3 * i - 1], args[3 * i], args[3 * i + 1]
  local kept = tonumber(ttl) > memory and ttl or args[1]
  local holder, reply = stored[2 * i - 1]
  -- pcall, so that one key of another type does not fail the other requests.
  if holder == nil then holder = pcall('GET', lock) end

  if not holder then
    local last = stored[2 * i] or pcall('GET', record)
    local random = sub(id, -32)
    if type(last) == 'table' then
      holder = last
    elseif last and sub(last, 1, 32) == random then
      -- Unless an earlier request of this call was granted this very lock.
      holder, reply = pcall('GET', lock), {'spent'}
    else
      if not micros then
        local now = call('TIME')
        -- Fences are text, because Lua would concatenate a large number in scientific notation.
        micros = now[1] .. sub('00000' .. now[2], -6)
      end
      local fence = micros
      -- Matched from behind the random part: a pattern costs time for every character it looks at.
      local lastFence, ending = match(last or '', '^%.(%d+)(.*)$', 33)
      -- Numbers of the same length also compare correctly as text.
      if lastFence and (#lastFence ~= #micros or lastFence >= micros) then
        fence = format('%.0f', math.max(lastFence + 1, micros + 0))
      end
      if fence ~= minted or fences ~= reserved then
        minted, reserved, upTo = fence, fences, format('%.0f', fence + fences - 1)
      end
      reply = id .. '.' .. fence
      local set = pcall('SET', lock, reply, 'NX', 'PX', ttl)
      if not set then
        -- The key is of another type, or an earlier request of this call took the lock.
        holder = pcall('GET', lock)
      elseif set.ok then
        -- The ending is carried over: the request that ended that lease may be repeated while the next holder has the
        -- lock.
        call('SET', record, random .. '.' .. upTo .. (ending or ''), 'PX', kept)
      elseif match(set.err, 'OOM') then
        -- Fails this request alone: a full server still answers requests for locks that are held.
        holder = set
      else
        -- A replica, for example. Fail the whole call, so that the client may reconnect.
        return set
      end
    end
  end

  if type(holder) == 'table' then
    reply = {'failed', holder.err}
  elseif holder then
    local holdersId, holdersFence = match(holder, '^(.*)%.(%d+)$')
    local pttl = call('PTTL', lock)
    if id == holdersId then
      if tonumber(ttl) > pttl then
        call('PEXPIRE', lock, ttl)
        call('PEXPIRE', record, kept)
      end
      reply = holder
    else
      -- A foreign holder's number may have any length; a cursor has at most 128 characters.
      -- A name is only what precedes 32 random digits: nothing of a foreign holder's value is disclosed.
      local name, random = match(holdersId or '', '^([%w_-]+)%.(%x+)$')
      reply = {'held', pttl, holdersFence and #holdersFence <= 128 and holdersFence or '-', name and #random == 32 and name or ''}
    end
  end
  replies[i] = reply
end
return replies
