-- Shows the holders of a lock and the first of its waiters; changes nothing.
-- @key lock     the lock's entry (see turns.part.lua for this and the following)
-- @key queue    who waits, in order
-- @key waiters  what is known of each
-- @key state    what is known of the lock
-- @returns {"state", kind, capacity, holders, waiters, waiting}  kind "" if nobody has it or waits; holders are triples of value,
--                             permits and pttl, -1 without expiry; waiters are pairs of permits and 1 with the turn, 0 without
-- @returns {"failed", error}  the server's own error about a key; WRONGTYPE: something else is there
local call, pcall, match = redis.call, redis.pcall, string.match
local lock, queue, waiters, state = unpack(KEYS)
local mostHolders, mostWaiters = 1000, 100

local function inspect()
  local token = pcall('GET', lock)
  local shown = {}
  local members = {}
  if type(token) == 'table' then
    members = match(token.err, 'WRONGTYPE') and pcall('ZRANGE', lock, 0, mostHolders - 1, 'WITHSCORES')
    if not members or members.err or not match(members[1], '%x%.%d+ %d+$') then return {'failed', token.err} end
    token = false
  elseif token then
    shown = {token, 1, call('PTTL', lock)}
  end
  local known = pcall('HMGET', state, 'kind', 'capacity')
  if known.err then return {'failed', known.err} end
  local time = call('TIME')
  local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
  for i = 1, #members, 2 do
    local value, permits = match(members[i], '^(.*) (%d+)$')
    local left = members[i + 1] - now
    if left > 0 then
      shown[#shown + 1] = value
      shown[#shown + 1] = tonumber(permits)
      shown[#shown + 1] = left
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
  if token or waiting == 0 and not members[1] then kind, capacity = token and 'exclusive' or '', 1 end
  return {'state', kind, capacity, shown, queued, waiting}
end

return {inspect()}
