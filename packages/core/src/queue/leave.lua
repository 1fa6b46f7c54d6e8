-- Takes a waiter out of the queue, with its turn, or gives back the lock that it has taken in the meantime.
-- @arg channels   what the channels of inboxes begin with
-- @arg believes   "1" where a PUBLISH counts every subscriber; otherwise empty
-- @key lock       the lock's entry (see turns.part.lua for this and the following)
-- @key fences     the fence record (see acquire.lua of the plain lock)
-- @key queue      who waits, in order
-- @key waiters    what is known of each
-- @key inboxes    what is known of each inbox
-- @key state      what is known of the lock
-- @each channel   the lock's release channel
-- @each name      the waiter's name
-- @each id        the acquisition id of its tries; empty for none
-- @returns "left"             now, or the lock was given back before
-- @returns {"absent"}         there was nothing
-- @returns {"failed", error}  the server's own error about a key; WRONGTYPE: something else is there
-- @include turns.part.lua
local channels, believes, channel, name, id = unpack(ARGV)

local function leave()
  local failed = open(0, id)
  if failed then return {'failed', failed.err} end
  local member = it.mine
  if it.waiting > 0 then
    -- So that it works on a full server, too, which accepts what follows a command that takes no memory.
    call('ZREM', queue, '')
    begin()
  end
  if member then release(member, id) end
  local wasIn = false
  if it.hadWaiters then
    endTurn(name)
    wasIn = remove(name)
    move(channels, channel, believes)
  end
  finish()
  if it.hasMore or member and it.waiting == 0 then announce(channel, member and match(member, '%.(%d+) ?%d*$')) end
  return (member or wasIn or id ~= '' and hasEnded(id) == 'released') and 'left' or {'absent'}
end

return {leave()}
