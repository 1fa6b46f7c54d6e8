-- Extends entries; never brings one back, and never shortens an expiry.
-- @arg memory      the least time to keep what is known of a room, ms
-- @key entries     who is in the room (see room.part.lua)
-- @key room        what is known of them
-- @each random     the random part of the entry's acquisition id
-- @each fence      its fence
-- @each ttl        milliseconds until it ends by itself
-- @returns "renewed"       even if more than ttl was left
-- @returns {"gone"}        no entry
-- @returns {"superseded"}  displaced by another
-- @include room.part.lua
local memory = tonumber(ARGV[1])

local function renew(at, random, fence, ttl)
  if entries ~= KEYS[at + 1] then
    entries, room = KEYS[at + 1], KEYS[at + 2]
    -- A full server accepts writes after a command that takes no memory.
    call('ZREM', entries, '')
  end
  local entry = entryOf(random)
  if not entry or entry.fence ~= fence or entry.state == 'left' then return {'gone'} end
  if entry.state == 'taken' then return {'superseded'} end
  extend(random, ttl)
  keep(math.max(ttl, memory))
  return 'renewed'
end

local replies = {}
for i = 1, #KEYS / 2 do
  replies[i] = renew(2 * i - 2, ARGV[3 * i - 1], ARGV[3 * i], tonumber(ARGV[3 * i + 1]))
end
return replies
