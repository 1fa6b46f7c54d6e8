-- Grants several locks, all of them or none, and mints a fence for each in the same step.
-- @arg memory   how long to keep a fence record, at least, ms
-- @arg ttl      milliseconds until the locks free themselves
-- @key lock     the lock's entry (see acquire.lua)
-- @key record   the fence record (see acquire.lua)
-- @each id      the acquisition id of this lock, kept through retries
-- @returns {"granted", token, ...}               now or before, in order; then each expiry is extended, and none is shortened
-- @returns {"held", at, pttl, fence, name}       nothing is granted; the lock at this place is another's, as in acquire.lua
-- @returns {"spent"}                             these were granted, and some are not ours any more; nothing is granted
-- @returns {"failed", error, at}                 the server's own error about this lock; WRONGTYPE: something else is there
local call, pcall, match, sub, format = redis.call, redis.pcall, string.match, string.sub, string.format
local memory, ttl = unpack(ARGV)
local count = #KEYS / 2
local kept = math.max(memory, ttl)

local function acquireAll()
  local holders, lasts, heldAt = {}, {}
  local ours, isSpent = 0, false
  for at = 1, count do
    local lock, record, id = KEYS[2 * at - 1], KEYS[2 * at], ARGV[at + 2]
    local holder, last = pcall('GET', lock), pcall('GET', record)
    if type(holder) == 'table' then return {'failed', holder.err, at} end
    if not holder and type(last) == 'table' then return {'failed', last.err, at} end
    holders[at], lasts[at] = holder, tostring(last)
    if holder and match(holder, '^(.*)%.%d+$') == id then
      ours = ours + 1
    elseif match(lasts[at], '^%x+') == sub(id, -32) then
      -- It was granted, for they are granted together.
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
  if heldAt then
    local id, fence = match(holders[heldAt], '^(.*)%.(%d+)$')
    -- As in acquire.lua: a cursor has at most 128 characters, and of a foreign holder's value nothing is told.
    local name, random = match(id or '', '^([%w_-]+)%.(%x+)$')
    local cursor = fence and #fence <= 128 and fence or '-'
    return {'held', heldAt, call('PTTL', KEYS[2 * heldAt - 1]), cursor, name and #random == 32 and name or ''}
  end

  local now = call('TIME')
  local micros = now[1] * 1000000 + now[2]
  local tokens, records = {}, {}
  for at = 1, count do
    local id = ARGV[at + 2]
    local _, lastFence, ending = match(lasts[at], '^(%x+)%.(%d+)(.*)$')
    local fence = format('%.0f', math.max((lastFence or 0) + 1, micros))
    tokens[at] = id .. '.' .. fence
    -- The ending is carried over, as in acquire.lua.
    records[at] = sub(id, -32) .. '.' .. fence .. (ending or '')
  end
  -- If any is refused, it is the first: a server that has carried out one write of a script carries out the others.
  for at = 1, count do
    local set = pcall('SET', KEYS[2 * at - 1], tokens[at], 'PX', ttl)
    -- As in acquire.lua: of a replica, say, the whole call is told.
    if set.err then return match(set.err, 'OOM') and {'failed', set.err, at} or set end
  end
  for at = 1, count do call('SET', KEYS[2 * at], records[at], 'PX', kept) end
  return {'granted', unpack(tokens)}
end

local reply = acquireAll()
return reply.err and reply or {reply}
