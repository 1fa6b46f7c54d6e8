-- Extends leases of locks for several holders; never re-creates an entry and never shortens an expiry.
-- @arg memory     how long to keep a fence record, at least, ms
-- @key lock       the lock's entry (see turns.part.lua for this and the following)
-- @key fences     the fence record (see acquire.lua of the plain lock)
-- @key queue      who waits, in order
-- @key waiters    what is known of each
-- @key inboxes    what is known of each inbox
-- @key state      what is known of the lock
-- @each whole     the holder's whole token
-- @each ttl       milliseconds until the lock frees itself
-- @returns "renewed"          also if more than ttl was left
-- @returns {"gone"}           no entry
-- @returns {"failed", error}  the server's own error about a key; WRONGTYPE: something else is there
-- @include turns.part.lua
local memory = tonumber(ARGV[1])

local failed

local function renew(at, whole, ttl)
  local id = match(whole, '^(.*)%.%d+$')
  if KEYS[at + 1] == lock then
    it.mine = not failed and it.isShared and call('HGET', state, id) or nil
    if it.hasMore then dropMine() end
  else
    -- Many leases of one lock are renewed at once.
    if lock and not failed then finish() end
    failed = open(at, id)
    -- So that it works on a full server, too, which accepts what follows a command that takes no memory.
    if not failed and it.isShared then call('ZREM', queue, '') end
  end
  if failed then return {'failed', failed.err} end
  if not it.isShared or not it.mine or match(it.mine, '^%S+') ~= whole then return {'gone'} end
  extend(it.mine, tonumber(ttl))
  local kept = max(memory, ttl)
  if kept > call('PTTL', fences) then call('PEXPIRE', fences, kept) end
  return 'renewed'
end

local replies = {}
for i = 1, #KEYS / 6 do
  replies[i] = renew(6 * i - 6, ARGV[2 * i], ARGV[2 * i + 1])
end
if not failed then finish() end
return replies
