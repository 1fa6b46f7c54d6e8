-- Extends leases of locks for several holders; never re-creates an entry and never shortens an expiry.
-- @arg memory     how long to keep a fence record, at least, ms
-- @key lock       the lock's entry (see turns.part.lua for this and the following)
-- @key fences     the fence record (see acquire.lua of the plain lock)
-- @key queue      who waits, in order
-- @key waiters    what is known of each
-- @key inboxes    what is known of each inbox
-- @key state      what is known of the lock
-- @key holders    those of a lock for several
-- @each whole     the holder's whole token
-- @each ttl       milliseconds until the lock frees itself
-- @returns "renewed"          also if more than ttl was left
-- @returns {"gone"}           no entry
-- @returns {"failed", error}  the server's own error about a key; WRONGTYPE: something else is there
-- @include turns.part.lua
local memory = tonumber(ARGV[1])

local failed

local function renew(at, whole, ttl)
  -- Many leases of one lock are renewed at once.
  if KEYS[at + 1] ~= lock then
    if lock and not failed and hasState then finish() end
    failed = open(at)
  end
  if failed then return {'failed', failed.err} end
  local member = isShared and memberOf(match(whole, '^(.*)%.%d+$'))
  if not member or match(member, '^%S+') ~= whole then return {'gone'} end
  -- On a full server, too: it accepts what comes after a command that takes no memory.
  call('ZREM', queue, '')
  extend(member, tonumber(ttl))
  local kept = max(memory, ttl)
  if kept > call('PTTL', fences) then call('PEXPIRE', fences, kept) end
  return 'renewed'
end

local replies = {}
for i = 1, #KEYS / 7 do
  replies[i] = renew(7 * i - 7, ARGV[2 * i], ARGV[2 * i + 1])
end
if not failed and hasState then finish() end
return replies
