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
    local live = call('ZRANGEBYSCORE', lock, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, mostHolders)
    for i = 1, #live, 2 do
      local value, permits = match(live[i], '^(.*) (%d+)$')
      held = held + permits
      shown[#shown + 1] = value
      shown[#shown + 1] = tonumber(permits)
      shown[#shown + 1] = live[i + 1] - now
    end
    -- If there are more, the state says how many permits are held, also by those whose leases have ended since the last call.
    if live[2 * mostHolders] and known[3] then
      held = known[3] + 0
      local ended = call('ZRANGEBYSCORE', lock, '-inf', now, 'LIMIT', 0, mostHolders)
      for _, member in ipairs(ended) do held = held - match(member, '%d+$') end
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
