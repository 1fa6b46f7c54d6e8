-- Gives leases back, or some of their permits, and gives the turn to the next waiter.
-- @arg channels   what the channels of inboxes begin with
-- @arg believes   "1" where a PUBLISH counts every subscriber; otherwise empty
-- @key lock       the lock's entry (see turns.part.lua for this and the following)
-- @key fences     the fence record (see acquire.lua of the plain lock)
-- @key queue      who waits, in order
-- @key waiters    what is known of each
-- @key inboxes    what is known of each inbox
-- @key state      what is known of the lock
-- @each channel   the lock's release channel
-- @each whole     the holder's whole token
-- @each exclusive "1" for a lock for one holder; otherwise empty
-- @each rest      how many permits to keep
-- @returns n                  given back; nobody waits, and n subscribers were told; -1 if that, or a turn, could not be announced
-- @returns {how, -2}          given back, and others wait; or "released" or "revoked" before
-- @returns {"gone"}           no entry, and no record of how it ended
-- @returns {"superseded"}     another's token, and no record of how this one's lease ended
-- @returns {"failed", error}  the server's own error about a key; WRONGTYPE: something else is there
-- @include turns.part.lua
local channels, believes = ARGV[1], ARGV[2]

local function giveBack(at, channel, whole, exclusive, rest)
  local id, fence = match(whole, '^(.*)%.(%d+)$')
  local failed = open(at, id)
  if failed then return {'failed', failed.err} end
  local member = it.token
  if exclusive == '' then member = it.isShared and it.mine end
  local isMine = member and match(member, '^%S+') == whole
  local permits = tonumber(isMine and match(member, ' (%d+)$') or 1)
  rest = tonumber(rest)
  -- So that it works on a full server, too, which accepts what follows a command that takes no memory.
  if it.waiting > 0 or rest > 0 then call('ZREM', queue, '') end
  if it.waiting > 0 then begin() end
  local reply
  if not isMine then
    local how = hasEnded(whole)
    reply = how and {how, -2} or {exclusive ~= '' and it.token and 'superseded' or 'gone'}
  elseif rest == 0 then
    release(member, id)
  elseif rest >= permits then
    reply = {'released', -2}
  else
    local fewer = whole .. ' ' .. rest
    call('ZADD', lock, call('ZSCORE', lock, member), fewer)
    call('ZREM', lock, member)
    it.mine, it.held, it.first = fewer, it.held - permits + rest, nil
  end
  if it.waiting > 0 then move(channels, channel, believes) end
  finish(id, it.count > 0 and rest > 0 and isMine and it.mine)
  local told = (it.hasMore or not reply and it.waiting == 0) and announce(channel, not reply and fence)
  return reply or it.isUnheard and -1 or told or {'released', -2}
end

local replies = {}
for i = 1, #KEYS / 6 do
  replies[i] = giveBack(6 * i - 6, unpack(ARGV, 4 * i - 1, 4 * i + 2))
end
return replies
