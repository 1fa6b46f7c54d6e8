-- Keeps the inbox of a process alive, moves the queue of each lock on, and reports which of the inbox's waiters have
-- the turn and which are missing.
-- @arg channels   what the channels of inboxes begin with
-- @arg believes   "1" where a PUBLISH counts every subscriber; otherwise empty
-- @key lock       the lock's entry (see turns.part.lua for this and the following)
-- @key fences     the fence record (see acquire.lua of the plain lock)
-- @key queue      who waits, in order
-- @key waiters    what is known of each
-- @key inboxes    what is known of each inbox
-- @key state      what is known of the lock
-- @each channel   the lock's release channel
-- @each inbox     the inbox
-- @each alive     milliseconds until it is taken for dead
-- @each numbers   the waiters to look for, by number, to report the missing ones; separated by spaces
-- @returns {"looked", again, turns, missing}  turns and missing are lists of numbers; again -1 if nothing is known to end
-- @returns {"failed", error}                  the server's own error about a key; WRONGTYPE: something else is there
-- @include turns.part.lua
local channels, believes = ARGV[1], ARGV[2]

local function look(at, channel, inbox, alive, numbers)
  local failed = open(at, '')
  if failed then return {'failed', failed.err} end
  if it.waiting > 0 then
    -- So that it works on a full server, too, which accepts what follows a command that takes no memory.
    call('ZREM', queue, '')
    begin()
    local own = box(inbox)
    if own.generation then hear(inbox, alive, own.ear == '-' and '' or '1', channels, believes) end
    move(channels, channel, believes)
  end
  finish()
  local having, missing = {}, {}
  for _, entry in ipairs(it.turns) do
    if inboxOf(entry.name) == inbox then having[#having + 1] = tonumber(match(entry.name, '%d+$')) end
  end
  local names = {}
  for number in string.gmatch(numbers, '%d+') do names[#names + 1] = inbox .. '.' .. number end
  local places = it.waiting > 0 and names[1] and call('ZMSCORE', queue, unpack(names)) or {}
  if it.waiting > 0 then readEntries(names) end
  for i, name in ipairs(names) do
    if not places[i] or not stands(it.entries[name]) then missing[#missing + 1] = tonumber(match(name, '%d+$')) end
  end
  return {'looked', soonest(), having, missing}
end

local replies = {}
for i = 1, #KEYS / 6 do
  replies[i] = look(6 * i - 6, unpack(ARGV, 4 * i - 1, 4 * i + 2))
end
return replies
