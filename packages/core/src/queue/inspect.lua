-- Shows the first holders of a lock and the first of its waiters, and counts all of them; changes nothing.
-- @key lock     the lock's entry (see turns.part.lua for this and the following)
-- @key queue    who waits, in order
-- @key waiters  what is known of each
-- @key state    what is known of the lock
-- @returns {"state", kind, capacity, held, holders, waiters, waiting}  kind "" if nobody has it or waits; held is in permits; holders
--                             are triples of value, permits and pttl, -1 without expiry; waiters are pairs of permits and 1 with
--                             the turn, 0 without
-- @returns {"failed", error}  the server's own error about a key; WRONGTYPE: something else is there
local call, pcall, match = redis.call, redis.pcall, string.match
local lock, queue, waiters, state = unpack(KEYS)
local mostHolders, mostWaiters = 1000, 100

-- The value and the permits of each holder, and when its lease ends: of those whose leases end between two times, the first.
local function holders(from, till)
  local found, list = call('ZRANGEBYSCORE', lock, from, till, 'WITHSCORES', 'LIMIT', 0, mostHolders), {}
  for i = 1, #found, 2 do
    local value, permits = match(found[i], '^(.*) (%d+)$')
    list[#list + 1] = {value, tonumber(permits), found[i + 1]}
  end
  return list
end

local function inspect()
  local token = pcall('GET', lock)
  local shown, isShared, held = {}, false, 0
  if type(token) == 'table' then
    local first = match(token.err, 'WRONGTYPE') and pcall('ZRANGE', lock, 0, 0)
    if not first or first.err or not match(first[1], '%x%.%d+ %d+$') then return {'failed', token.err} end
    token, isShared = false, true
  elseif token then
    shown, held = {token, 1, call('PTTL', lock)}, 1
  end
  local known = pcall('HMGET', state, 'kind', 'capacity', 'held')
  if known.err then return {'failed', known.err} end
  if isShared then
    local time = call('TIME')
    local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
    local live = holders('(' .. now, '+inf')
    for _, holder in ipairs(live) do
      for _, each in ipairs({holder[1], holder[2], holder[3] - now}) do shown[#shown + 1] = each end
      held = held + holder[2]
    end
    -- If not all are shown, all are counted: the state counts them, and holders whose leases have ended since the last call.
    if #live == mostHolders and known[3] then
      held = tonumber(known[3])
      for _, holder in ipairs(holders('-inf', now)) do held = held - holder[2] end
    end
  end
  local names = call('ZRANGE', queue, 0, mostWaiters - 1, 'WITHSCORES')
  local queued = {}
  for i = 1, #names, 2 do
    local permits = match(call('HGET', waiters, names[i]) or '', '^%d+ %d+ (%d+)')
    queued[i] = tonumber(permits or 1)
    queued[i + 1] = tonumber(names[i + 1]) < 0 and 1 or 0
  end
  local waiting = call('ZCARD', queue)
  local kind, capacity = known[1] or '', tonumber(known[2] or 0)
  if token or waiting == 0 and not isShared then kind, capacity = token and 'exclusive' or '', 1 end
  return {'state', kind, capacity, held, shown, queued, waiting}
end

return {inspect()}
