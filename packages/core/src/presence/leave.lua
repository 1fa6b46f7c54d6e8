-- Takes sessions out of their rooms, each in this one step or not at all.
-- @arg memory      the least time to keep what is known of a room, ms
-- @key entries     who is in the room (see room.part.lua)
-- @key room        what is known of them
-- @each channel    where to announce it
-- @each random     the random part of the entry's acquisition id
-- @each fence      its fence; empty to undo an enter of which only the acquisition id is known
-- @returns n                 it is out, and n subscribers were notified; -1 if it could not be announced
-- @returns {"released", -2}  it was out before
-- @returns {"gone"}          no entry
-- @returns {"superseded"}    displaced by another
-- @include room.part.lua
local memory = tonumber(ARGV[1])

local function takeOut(at, channel, random, fence)
  if entries ~= KEYS[at + 1] then open(at) end
  local entry = entryOf(random)
  if not entry or fence ~= '' and entry.fence ~= fence then return {'gone'} end
  if entry.state == 'left' then return {'released', -2} end
  if entry.state == 'taken' then return {'superseded'} end
  leave({entry}, 'left')
  change()
  keep(memory)
  return tell(channel)
end

local replies = {}
for i = 1, #KEYS / 2 do
  replies[i] = takeOut(2 * i - 2, ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1])
end
return replies
