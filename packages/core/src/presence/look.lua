-- Returns who is in rooms, and changes nothing.
-- @key entries     who is in the room (see room.part.lua)
-- @key room        what is known of them
-- @each known      the version that the caller knows; empty for none
-- @each role       the only role to return; empty for all
-- @each user       with a role, the user whose entries to return; empty for the user who has it
-- @returns {"same"}                          the room has not changed since that version
-- @returns {"look", version, {text, left…}}  what is known of each entry, and its time left in ms
-- @include room.part.lua
local function look(at, known, role, user)
  entries, room = KEYS[at + 1], KEYS[at + 2]
  -- Without a change in the room, entries can only expire.
  local version = (call('HGET', room, 'f') or '0') .. '.' .. call('ZCOUNT', entries, '(' .. now, '+inf')
  if version == known then return {'same'} end
  local list = {}
  local function add(entry)
    if entry and entry.state == 'in' then
      list[#list + 1], list[#list + 2] = entry.text, entry.left
    end
  end
  if role == '' then
    local found = call('ZRANGEBYSCORE', entries, '(' .. now, '+inf', 'WITHSCORES')
    for i = 1, #found, 2 do
      local entry = described(found[i])
      if entry then entry.left = found[i + 1] - now end
      add(entry)
    end
  else
    for _, entry in ipairs(user == '' and holders(role) or entriesOf(user, role)) do add(entry) end
  end
  return {'look', version, list}
end

local replies = {}
for i = 1, #KEYS / 2 do
  replies[i] = look(2 * i - 2, ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i])
end
return replies
