-- The rules that the scripts of presence share.
--
-- entries  a sorted set of who is in the room: the random part of each entry's acquisition id, scored by its expiry in
--          ms. It alone decides which entries exist: anything else about an entry counts only while it is in here,
--          unexpired
-- room     a hash. e:<random> → "<state>\n<fence>\n<name>\n<since>\n<exclusive>\n<role>\n<user>\n<session>", where
--          the state is in, left or taken, the name is that of the locker, and exclusive is 1 or empty
--          u:<user> → the random parts of the user's entries, concatenated
--          s:<user>\n<session> → the random part of the session's entry: a user may have thousands
--          r:<role> → the user who has that exclusive role
--          n → the number of e: fields; m → how many of them are marked (see below)
--          f → the last fence, or time of a change
--
-- An entry that leaves or is displaced is marked, and stays until it would have expired. So a late repeat of its
-- request gets the true answer, and a renewal can tell a displaced entry from a missing one.
local call, match, format, floor, sub = redis.call, string.match, string.format, math.floor, string.sub
local form = '^(%a+)\n(%d+)\n([^\n]*)\n(%d+)\n(1?)\n([^\n]*)\n([^\n]*)\n([^\n]*)$'
local mostDropped, remembered = 100, 60000
local entries, room
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = floor(micros / 1000)

local function described(random)
  local text = call('HGET', room, 'e:' .. random)
  local state, fence, name, since, exclusive, role, user, session = match(text or '', form)
  if not state then return nil end
  return {
    random = random, state = state, fence = fence, name = name, since = since,
    exclusive = exclusive, role = role, user = user, session = session, text = text,
  }
end

-- Returns what is known of an entry, unless it has expired.
local function entryOf(random)
  local till = tonumber(call('ZSCORE', entries, random) or 0)
  local entry = till > now and described(random)
  if entry then entry.left = till - now end
  return entry or nil
end

-- Returns a user's entries, of one role if it is given, and at most `most` of them.
local function entriesOf(user, role, most)
  local found = {}
  local list = call('HGET', room, 'u:' .. user) or ''
  for at = 1, #list, 32 do
    if #found == most then break end
    local entry = entryOf(sub(list, at, at + 31))
    if entry and entry.state == 'in' and (not role or entry.role == role) then found[#found + 1] = entry end
  end
  return found
end

-- Returns the entries of the user who has an exclusive role.
local function holders(role)
  local user = call('HGET', room, 'r:' .. role)
  return user and entriesOf(user, role) or {}
end

local function write(entry)
  call('HSET', room, 'e:' .. entry.random, table.concat({
    entry.state, entry.fence, entry.name, entry.since, entry.exclusive, entry.role, entry.user, entry.session,
  }, '\n'))
end

local function sessionOf(entry) return 's:' .. entry.user .. '\n' .. entry.session end

-- Records that an entry, and its role if exclusive, belong to its user.
local function attach(entry)
  local field = 'u:' .. entry.user
  call('HSET', room, field, (call('HGET', room, field) or '') .. entry.random, sessionOf(entry), entry.random)
  if entry.exclusive == '1' then call('HSET', room, 'r:' .. entry.role, entry.user) end
end

-- Takes entries from their users, and roles from users with none left in them. All at once: a user may have thousands.
local function detach(gone)
  local isGone, users, roles = {}, {}, {}
  for _, entry in ipairs(gone) do
    isGone[entry.random], users[entry.user] = true, true
    local field = sessionOf(entry)
    if call('HGET', room, field) == entry.random then call('HDEL', room, field) end
    if entry.exclusive == '1' then roles[entry.role] = true end
  end
  for user in pairs(users) do
    local field, rest = 'u:' .. user, {}
    local list = call('HGET', room, field) or ''
    for at = 1, #list, 32 do
      local random = sub(list, at, at + 31)
      if not isGone[random] then rest[#rest + 1] = random end
    end
    if rest[1] then call('HSET', room, field, table.concat(rest)) else call('HDEL', room, field) end
  end
  for role in pairs(roles) do
    local user = call('HGET', room, 'r:' .. role)
    if user and not entriesOf(user, role, 1)[1] then call('HDEL', room, 'r:' .. role) end
  end
end

local function leave(leaving, state)
  for _, entry in ipairs(leaving) do
    entry.state = state
    write(entry)
    call('HINCRBY', room, 'm', 1)
  end
  detach(leaving)
end

-- After an eviction, what is known of the entries may no longer match the entries.
local function rebuild()
  local last, kept = call('HGET', room, 'f'), {}
  for _, random in ipairs(call('ZRANGE', entries, 0, -1)) do
    local entry = described(random)
    if entry then kept[#kept + 1] = entry else call('ZREM', entries, random) end
  end
  local left = call('PTTL', room)
  call('DEL', room)
  call('HSET', room, 'f', last or 0, 'n', #kept)
  for _, entry in ipairs(kept) do
    write(entry)
    if entry.state == 'in' then attach(entry) else call('HINCRBY', room, 'm', 1) end
  end
  call('PEXPIRE', room, math.max(left, remembered))
end

-- Opens a room that is about to change, and drops expired entries.
local function open(at)
  entries, room = KEYS[at + 1], KEYS[at + 2]
  -- Begins with a write that takes no memory: after it, a full server accepts the others.
  call('ZREM', entries, '')
  if call('ZCARD', entries) ~= tonumber(call('HGET', room, 'n') or 0) then rebuild() end
  local expired, gone = call('ZRANGEBYSCORE', entries, '-inf', now, 'LIMIT', 0, mostDropped), {}
  for _, random in ipairs(expired) do
    local entry = described(random)
    call('ZREM', entries, random)
    if entry and entry.state == 'in' then gone[#gone + 1] = entry end
    call('HDEL', room, 'e:' .. random)
  end
  detach(gone)
  if expired[1] then
    call('HINCRBY', room, 'n', -#expired)
    call('HINCRBY', room, 'm', #gone - #expired)
  end
end

-- Returns a number that grows with every change of the room, and is the fence of an entry that comes in.
local function change()
  local last = tonumber(call('HGET', room, 'f') or 0)
  local next = format('%.0f', math.max(last + 1, micros))
  call('HSET', room, 'f', next)
  return next
end

local function extend(random, ttl)
  call('ZADD', entries, 'GT', now + ttl, random)
  if call('PTTL', entries) < ttl then call('PEXPIRE', entries, ttl) end
end

-- Keeps what is known of the room for at least this long.
local function keep(ms)
  if call('PTTL', room) < ms then call('PEXPIRE', room, ms) end
end

-- Notifies whoever watches the room. pcall, for a user without permission: watchers that are not notified look.
local function tell(channel)
  local told = redis.pcall('PUBLISH', channel, 'room')
  return type(told) == 'number' and told or -1
end
