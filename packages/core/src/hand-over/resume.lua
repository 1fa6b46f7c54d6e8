-- Takes a detached lease over: replaces its token with a new one, whose fence is above every fence reserved for the old
-- one.
-- @arg memory  how long to keep a fence record, at least, ms
-- @key lock    the lock's entry (see acquire.lua)
-- @key record  the fence record (see acquire.lua)
-- @each token  the whole token of the detached lease
-- @each fence  the fence of its last holder
-- @each id     the new acquisition id, kept through retries
-- @each ttl    milliseconds until the lock frees itself; a lease with more time left keeps it
-- @returns token              the new one, written now or before: then the expiry is extended
-- @returns {"spent"}          this resume was granted, and that lease is over
-- @returns {"gone"}           no entry, and no record of a later grant
-- @returns {"superseded"}     another was granted the lock since
-- @returns {"failed", error}  the server's own error about the key or its record; WRONGTYPE: something else is there
local call, pcall, match, sub = redis.call, redis.pcall, string.match, string.sub
local lock, record = unpack(KEYS)
local memory, token, fence, id, ttl = unpack(ARGV)

local function resume()
  local holder, last = pcall('GET', lock), pcall('GET', record)
  for _, value in ipairs({holder, last}) do
    if type(value) == 'table' then return {'failed', value.err} end
  end
  local random = sub(id, -32)
  local lastRandom, lastFence, ending = match(last or '', '^(%x+)%.(%d+)(.*)$')
  local isMine = holder and match(holder, '^(.*)%.%d+$') == id
  if not isMine then
    if lastRandom == random then return {'spent'} end
    if holder ~= token then
      local isLast = not lastRandom or lastRandom == match(token, '(%x+)%.%d+$')
      return {(holder or not isLast) and 'superseded' or 'gone'}
    end
  end

  local ms = math.max(tonumber(ttl), call('PTTL', lock))
  local kept = math.max(ms, tonumber(memory))
  -- A full server refuses a SET, but not after a command that takes no memory. Neither SET here takes more memory than
  -- is taken already.
  call('PEXPIRE', lock, ms)
  if isMine then
    if kept > call('PTTL', record) then call('PEXPIRE', record, kept) end
    return holder
  end
  local now = call('TIME')
  local next = math.max((lastFence or 0) + 1, fence + 1, now[1] * 1000000 + now[2])
  local minted = string.format('%.0f', next)
  local granted = id .. '.' .. minted
  call('SET', lock, granted, 'PX', ms)
  -- The ending is carried over, as in acquire.lua.
  call('SET', record, random .. '.' .. minted .. (ending or ''), 'PX', kept)
  return granted
end

return {resume()}
