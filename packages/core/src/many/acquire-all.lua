-- Grants several locks, all of them or none, and mints a fence for each in the same step. A set that has waited for
-- long is an elder: while the store knows it, sets that came much later leave its locks to it.
-- @arg memory   how long to keep a fence record, at least, ms
-- @arg ttl      milliseconds until the locks free themselves; 0 for a set that has stopped waiting, which is granted nothing
-- @arg waited   how long the set has waited, ms
-- @arg later    how long a set waits until it is an elder, and how much later another must have come to stand back for it, ms
-- @arg known    how long an elder that does not ask again stays known, ms
-- @arg comes    when to ask again for a lock that is left to an elder, ms
-- @key lock     the lock's entry (see acquire.lua)
-- @key record   the fence record (see acquire.lua)
-- @key elder    the elder: "<when it began to wait, ms>.<random part of its acquisition id>". The elders come after all locks and records
-- @each id      the acquisition id of this lock, kept through retries
-- @returns {"granted", token, ...}               now or before, in order; then each expiry is extended, and none is shortened
-- @returns {"held", at, pttl, fence, name, elder}  nothing is granted; the lock at this place is another's, as in acquire.lua, or left
--                                                to an elder, with fence "-" and no name; elder is 1 if the set is the elder now, null otherwise
-- @returns {"spent"}                             these were granted, and some are no longer ours; nothing is granted
-- @returns {"failed", error, at}                 the server's own error about this lock; WRONGTYPE: something else is there
local call, pcall, match, sub, format = redis.call, redis.pcall, string.match, string.sub, string.format
local memory, ttl, waited, later, known, comes = unpack(ARGV)
local count = #KEYS / 3
local kept = math.max(memory, ttl)

local function acquireAll()
  local holders, randoms, fences, endings, heldAt = {}, {}, {}, {}
  local ours, isSpent = 0, false
  for at = 1, count do
    local lock, record, id = KEYS[2 * at - 1], KEYS[2 * at], ARGV[at + 6]
    local holder, last = pcall('GET', lock), pcall('GET', record)
    if type(holder) == 'table' then return {'failed', holder.err, at} end
    if not holder and type(last) == 'table' then return {'failed', last.err, at} end
    local random, lastRandom = sub(id, -32)
    lastRandom, fences[at], endings[at] = match(tostring(last), '^(%x+)%.(%d+)(.*)$')
    holders[at], randoms[at] = holder, random
    if holder and match(holder, '^(.*)%.%d+$') == id then
      ours = ours + 1
    elseif lastRandom == random then
      -- Granted before, and so were the others: they are granted together.
      isSpent = true
    elseif holder then
      heldAt = heldAt or at
    end
  end

  if ours == count then
    for at = 1, count do
      local lock, record = KEYS[2 * at - 1], KEYS[2 * at]
      if tonumber(ttl) > call('PTTL', lock) then call('PEXPIRE', lock, ttl) end
      if kept > call('PTTL', record) then call('PEXPIRE', record, kept) end
    end
    return {'granted', unpack(holders)}
  end
  if ours > 0 or isSpent then return {'spent'} end

  local now = call('TIME')
  local micros = now[1] * 1000000 + now[2]
  local since = micros / 1000 - waited
  local isElder, leftAt = waited - later >= 0
  -- A key that is of another type, or may not be read or written, counts as no elder.
  local elders = pcall('MGET', unpack(KEYS, 2 * count + 1))
  for at = 1, count do
    if elders[at] then
      local elder, began, random = KEYS[2 * count + at], match(elders[at], '^(%d+)%.(%x+)$')
      if random == randoms[at] then
        -- If this set goes on waiting, it becomes an elder again below.
        pcall('DEL', elder)
      elseif began and began + 0 <= since then
        isElder = false
        if since - began - later > 0 then leftAt = leftAt or at end
      end
    end
  end
  if ttl == '0' then return {'spent'} end

  local at = heldAt or leftAt
  if at then
    for i = 1, isElder and count or 0 do
      pcall('SET', KEYS[2 * count + i], format('%.0f.%s', since, randoms[i]), 'PX', known)
    end
    local id, fence = match(heldAt and holders[at] or '', '^(.*)%.(%d+)$')
    -- As in acquire.lua: a cursor has at most 128 characters, and nothing of a foreign holder's value is revealed.
    local name, random = match(id or '', '^([%w_-]+)%.(%x+)$')
    local cursor = fence and #fence <= 128 and fence or '-'
    local pttl = heldAt and call('PTTL', KEYS[2 * at - 1]) or comes + 0
    return {'held', at, pttl, cursor, name and #random == 32 and name or '', isElder}
  end

  local tokens, records = {}, {}
  for at = 1, count do
    local id = ARGV[at + 6]
    local fence = format('%.0f', math.max((fences[at] or 0) + 1, micros))
    tokens[at] = id .. '.' .. fence
    -- The ending is carried over, as in acquire.lua.
    records[at] = randoms[at] .. '.' .. fence .. (endings[at] or '')
  end
  -- If any SET is refused, it is the first: a server that has carried out one write of a script carries out the others.
  for at = 1, count do
    local set = pcall('SET', KEYS[2 * at - 1], tokens[at], 'PX', ttl)
    -- As in acquire.lua: any other error, such as a replica's, fails the whole call.
    if set.err then return match(set.err, 'OOM') and {'failed', set.err, at} or set end
  end
  for at = 1, count do call('SET', KEYS[2 * at], records[at], 'PX', kept) end
  return {'granted', unpack(tokens)}
end

local reply = acquireAll()
return reply.err and reply or {reply}
