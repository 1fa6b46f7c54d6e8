-- Lets a session into a room, in a role, unless somebody else has that role.
-- @arg memory       the least time to keep what is known of a room, ms
-- @key entries      who is in the room (see room.part.lua)
-- @key room         what is known of them
-- @each channel     where to announce it
-- @each id          the acquisition id, kept through retries
-- @each ttl         milliseconds until the entry ends by itself
-- @each role        "exclusive" roles have one user
-- @each user        the session's user: several sessions of a user share a role
-- @each session     which of the user's connections it is; an earlier entry of the same session is displaced
-- @each exclusive   "1" or empty
-- @each takeover    "anyone" displaces whoever has the role, "mine" other sessions of this user; otherwise empty
-- @returns token           entered, now or before; if before, the expiry is extended
-- @returns {"held", text, left}  somebody else has the role: what is known of their entry, and its time left in ms
-- @returns {"spent"}       this entry came and went
-- @returns {"full"}        there are too many entries, not counting those that this one displaces
-- @include room.part.lua
local memory, mostEntries, mostKnown = tonumber(ARGV[1]), 10000, 30000
local channel, id, ttl, role, user, session, exclusive, takeover = unpack(ARGV, 2, 9)

local function enter()
  open(0)
  ttl = tonumber(ttl)
  local random = sub(id, -32)
  local mine = entryOf(random)
  if mine then
    if mine.state ~= 'in' then return {'spent'} end
    extend(random, ttl)
    keep(math.max(ttl, memory))
    return id .. '.' .. mine.fence
  end
  local displaced = {}
  if exclusive == '1' then
    local holder = call('HGET', room, 'r:' .. role)
    if holder and holder ~= user and takeover ~= 'anyone' then
      local entry = entriesOf(holder, role, 1)[1]
      if entry then return {'held', entry.text, entry.left} end
    elseif holder and takeover ~= '' then
      for _, entry in ipairs(entriesOf(holder, role)) do
        if entry.user ~= user or entry.session ~= session then displaced[#displaced + 1] = entry end
      end
    end
  end
  local earlier = entryOf(call('HGET', room, sessionOf({user = user, session = session})) or '')
  if earlier and earlier.state == 'in' then displaced[#displaced + 1] = earlier end
  local known = call('ZCARD', entries)
  local present = known - (call('HGET', room, 'm') or 0)
  if known >= mostKnown or present - #displaced >= mostEntries then return {'full'} end
  leave(displaced, 'taken')
  local fence = change()
  local entry = {
    random = random, state = 'in', fence = fence, name = match(id, '^(.*)%.%x+$') or '', since = format('%.0f', now),
    exclusive = exclusive, role = role, user = user, session = session,
  }
  write(entry)
  attach(entry)
  call('HINCRBY', room, 'n', 1)
  extend(random, ttl)
  keep(math.max(ttl, memory))
  tell(channel)
  return id .. '.' .. fence
end

return {enter()}
