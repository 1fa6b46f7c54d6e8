-- Changes the capacity of a lock for several holders, as long as somebody holds it or waits for it.
-- @arg channels   what the channels of inboxes begin with
-- @arg believes   "1" where a PUBLISH counts every subscriber; otherwise empty
-- @key lock       the lock's entry (see turns.part.lua for this and the following)
-- @key fences     the fence record (see acquire.lua of the plain lock)
-- @key queue      who waits, in order
-- @key waiters    what is known of each
-- @key inboxes    what is known of each inbox
-- @key state      what is known of the lock
-- @each channel   the lock's release channel
-- @each wanted    the kind of lock
-- @each permitted its new capacity
-- @returns "resized"                 or nobody holds it or waits for it
-- @returns {"kind", kind, capacity}  the lock is of this kind
-- @returns {"failed", error}         the server's own error about a key; WRONGTYPE: something else is there
-- @include turns.part.lua
local channels, believes, channel, wanted, permitted = unpack(ARGV)

local function resize()
  local failed = open(0, '')
  if failed then return {'failed', failed.err} end
  local other = it.token and wanted ~= 'exclusive' and 'exclusive' or it.kind ~= wanted and it.kind
  if other or not it.kind and not it.isShared then
    finish()
    return other and {'kind', other, it.token and 1 or it.capacity} or 'resized'
  end
  it.kind, it.capacity = wanted, tonumber(permitted)
  if it.token then it.held = it.capacity end
  call('ZREM', queue, '')
  if it.waiting > 0 then
    begin()
    move(channels, channel, believes)
  end
  finish()
  if it.hasMore then announce(channel) end
  return 'resized'
end

return {resize()}
