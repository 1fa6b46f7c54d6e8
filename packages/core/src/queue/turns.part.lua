-- The rules that the scripts of the queue share. Each of them includes this text, opens a lock, changes it and closes it.
--
-- lock     for one holder the plain lock's entry; for several a sorted set of "<token> <permits>", scored by expiry, in ms
-- queue    a sorted set of waiters' names, "<inbox>.<number>". Who has the turn has the score <end of its window> - 1e15, in ms, so
--          that it comes first; everybody else has a ticket, in µs
-- waiters  a hash: name → "<generation> <ticket> <permits> <window>"
-- inboxes  a hash: inbox → "<generation> <alive until> <entries> <ear>". The ear is 1 if the server has counted a subscriber in the
--          last call of the inbox, 0 if not, and - if the inbox is a name only
-- state    a hash: kind, capacity; permits and holders of a lock for several; last ticket, and the queue's clock. And of a lock for
--          several the member of each holder, by its acquisition id
--
-- To void all entries of an inbox is to forget the inbox: it gets another generation when it enters again. Tickets, windows and
-- inboxes are on the queue's own time, which goes on when the server's clock is set back.
local call, pcall, match, format, floor, max = redis.call, redis.pcall, string.match, string.format, math.floor, math.max
local turnBase, mostTurns, mostDropped, remembered, slack = 1e15, 100, 100, 60000, 30000
local lock, fences, queue, waiters, inboxes, state
-- What this call has read of the lock and its queue, and has done. A table, because Redis makes the functions below with each call,
-- and what many of them share costs each of them.
-- micros, now, beat               the server's time, in µs and in ms, and the queue's, in ms
-- token, isShared                 of a lock for one holder; whether several have it
-- mine                            what the acquisition has that asks: token, or member
-- kind, capacity                  if known
-- held, count                     how many permits are held, and by how many
-- waiting, hadWaiters             how many wait; whether anybody did before this call
-- hasState, ticket, seen, offset  whether the state is kept, and what is in it of tickets and time
-- boxes, entries                  what was read of inboxes and of waiters
-- turns, reserved                 who has a turn, and for how many permits
-- inFront, first                  who is in front, and whose lease ends first, as long as that is so
-- dropsLeft, hasMore              how many dead waiters may be dropped yet; whether more are left
-- hasEntered, isUnheard           whether somebody has entered; whether a turn could not be announced
-- longest, longestWait            how long to keep the state and the queue, at least, in ms
local it = {}

-- Expiries are set long enough that a busy queue does not set them with each call.
local function keep(key, ms)
  if call('PTTL', key) < ms then call('PEXPIRE', key, ms + slack) end
end

local function inboxOf(name)
  return match(name, '^(.*)%.')
end

-- Whose lease ends first, and when.
local function firstHolder()
  it.first = it.first or call('ZRANGE', lock, 0, 0, 'WITHSCORES')
  return it.first
end

-- When the first lease ends, in ms; -1 if none is known to end.
local function leaseLeft()
  return it.token and call('PTTL', lock) or it.isShared and firstHolder()[2] - it.now or -1
end

-- What only a lock with waiters needs. Redis makes the functions of a script with each call, so these are made when the first such lock
-- is met.
local box, readEntries, entryOf, stands, remove, endTurn, begin, hear, front, move
local function useQueue()
  if move then return end

  function box(inbox)
    if not it.boxes[inbox] then
      local generation, alive, size, ear = match(call('HGET', inboxes, inbox) or '', '^(%d+) (%d+) (%d+) (.)$')
      it.boxes[inbox] = {generation = generation, alive = tonumber(alive or 0), entries = tonumber(size or 0), ear = ear}
    end
    return it.boxes[inbox]
  end

  -- Reads what is known of waiters, at most a few hundred.
  function readEntries(names)
    local texts = names[1] and call('HMGET', waiters, unpack(names)) or {}
    for i, name in ipairs(names) do
      local generation, place, permits, window = match(texts[i] or '', '^(%d+) (%d+) (%d+) (%d+)$')
      it.entries[name] = generation
        and {name = name, generation = generation, place = place, permits = tonumber(permits), window = tonumber(window)}
        or false
    end
  end

  -- What is known of a waiter; false for nothing.
  function entryOf(name)
    if it.entries[name] == nil then readEntries({name}) end
    return it.entries[name]
  end

  -- Whether it is one of those that its inbox counts.
  local function isCounted(entry)
    return entry and entry.generation == box(inboxOf(entry.name)).generation
  end

  -- Its inbox was not voided since it entered, and it does not want more than there is.
  function stands(entry)
    return isCounted(entry) and entry.permits <= it.capacity
  end

  -- Takes a waiter out. Answers whether it was in.
  function remove(name)
    if isCounted(entryOf(name)) then
      local own = box(inboxOf(name))
      own.entries = own.entries - 1
    end
    it.entries[name], it.inFront = false, nil
    call('HDEL', waiters, name)
    local removed = call('ZREM', queue, name)
    it.waiting = it.waiting - removed
    return removed == 1
  end

  local function takeTurnFrom(at)
    local entry = table.remove(it.turns, at)
    it.reserved, it.inFront = it.reserved - entry.permits, nil
    return entry
  end

  local function withdraw(at)
    local entry = takeTurnFrom(at)
    call('ZADD', queue, entry.place, entry.name)
  end

  -- Ends the turn of a waiter. Answers whether it had one.
  function endTurn(name)
    for at, entry in ipairs(it.turns) do
      if entry.name == name then return takeTurnFrom(at) end
    end
  end

  -- All entries of an inbox are void.
  local function forget(inbox)
    it.boxes[inbox], it.inFront = {alive = 0, entries = 0}, nil
    for at = #it.turns, 1, -1 do
      if inboxOf(it.turns[at].name) == inbox then withdraw(at) end
    end
  end

  -- Which of the turns is the last in the order of tickets.
  local function lastTurn()
    local last = 1
    for at, entry in ipairs(it.turns) do
      local ahead = entry.place - it.turns[last].place
      if ahead > 0 or ahead == 0 and entry.name > it.turns[last].name then last = at end
    end
    return last
  end

  -- Takes turns back. That one cannot be taken any more, for a plain acquire was quicker or the capacity shrank, is no fault of the
  -- waiter. One that is not taken in its window voids its inbox: that process is frozen, or hears nothing.
  function begin()
    local names, tills = {}, {}
    for i, text in ipairs(call('ZRANGEBYSCORE', queue, '-inf', '(0', 'WITHSCORES')) do
      local list = i % 2 == 1 and names or tills
      list[#list + 1] = text
    end
    readEntries(names)
    for i, name in ipairs(names) do
      local entry = it.entries[name]
      if entry then
        entry.till = tills[i] + turnBase
        it.turns[#it.turns + 1] = entry
        it.reserved = it.reserved + entry.permits
      else
        -- What is known of it was evicted.
        it.waiting = it.waiting - call('ZREM', queue, name)
      end
    end
    while it.turns[1] and it.held + it.reserved > it.capacity do withdraw(lastTurn()) end
    while it.turns[1] and it.turns[1].till <= it.beat do forget(inboxOf(it.turns[1].name)) end
  end

  -- Keeps an inbox alive, and asks whether the server counts a subscriber: a 0 of PUBLISH is believed only then.
  function hear(inbox, ms, listens, channels, believes)
    local own = box(inbox)
    own.alive = it.beat + ms
    it.longestWait = max(it.longestWait, tonumber(ms))
    if listens == '' then
      own.ear = '-'
    else
      local counted = believes ~= '' and pcall('PUBSUB', 'NUMSUB', channels .. inbox)
      own.ear = counted and not counted.err and counted[2] > 0 and '1' or '0'
    end
  end

  local function give(entry, channels, channel, believes)
    local inbox, number = match(entry.name, '^(.*)%.(.*)$')
    local own = box(inbox)
    -- pcall, for a user without permission: who is not told looks.
    local told = own.ear == '-' and pcall('PUBLISH', channel, 'turn ' .. entry.name)
      or own.ear ~= '-' and pcall('PUBLISH', channels .. inbox, 'turn ' .. number)
    if type(told) == 'table' then it.isUnheard = true end
    -- Nobody listens any more where somebody did: the process is dead. If that is wrong, it costs places.
    if told == 0 and own.ear == '1' and believes ~= '' then return forget(inbox) end
    entry.till = it.beat + entry.window
    it.turns[#it.turns + 1] = entry
    it.reserved, it.inFront = it.reserved + entry.permits, nil
    call('ZADD', queue, entry.till - turnBase, entry.name)
  end

  -- Drops who is void, dead or wants more than there is from the front, and answers the first of the others who has no turn.
  function front()
    while not it.inFront do
      local name = call('ZRANGEBYSCORE', queue, 0, '+inf', 'LIMIT', 0, 1)[1]
      if not name then return nil end
      local entry = entryOf(name)
      if stands(entry) and box(inboxOf(name)).alive > it.beat then
        it.inFront = entry
      elseif it.dropsLeft == 0 then
        it.hasMore = true
        return nil
      else
        it.dropsLeft = it.dropsLeft - 1
        remove(name)
      end
    end
    return it.inFront
  end

  -- Gives the turn to who is in front while they fit; what does not fit is never skipped. For `asking`, the name of the waiter that
  -- asks, `grant` is called instead.
  function move(channels, channel, believes, asking, grant)
    if asking and endTurn(asking) then grant() end
    local entry = front()
    while entry and entry.permits <= it.capacity - it.held - it.reserved do
      if entry.name == asking then
        grant()
      elseif #it.turns < mostTurns then
        give(entry, channels, channel, believes)
      else
        break
      end
      entry = front()
    end
  end
end

-- When a look is worth it, in ms; -1 if nothing is known to end.
local function soonest()
  if it.hasMore then return 0 end
  local left = leaseLeft()
  for _, entry in ipairs(it.turns) do
    local window = entry.till - it.beat
    if left < 0 or window < left then left = window end
  end
  return left
end

-- For tickets, turns and leases of several.
local function readTime()
  if not it.micros then
    local time = call('TIME')
    it.micros = time[1] * 1000000 + time[2]
    it.now = floor(it.micros / 1000)
  end
  it.offset = it.offset + max(0, it.seen - it.micros)
  it.seen = it.micros
  it.beat = floor((it.micros + it.offset) / 1000)
end

local function dropHolder(member)
  local id, permits = match(member, '^(.*)%.%d+ (%d+)$')
  call('ZREM', lock, member)
  call('HDEL', state, id)
  it.held, it.count, it.first = it.held - permits, it.count - 1, nil
  it.isShared = it.count > 0
end

-- After an eviction, what is known of the holders may not be what there are.
local function recount()
  it.held, it.count = 0, 0
  call('DEL', state)
  for _, member in ipairs(call('ZRANGE', lock, 0, -1)) do
    local id, permits = match(member, '^(.*)%.%d+ (%d+)$')
    it.held, it.count = it.held + permits, it.count + 1
    call('HSET', state, id, member)
  end
  call('PEXPIRE', state, max(0, call('PTTL', lock)) + remembered + slack)
end

-- Reads who has the lock. Answers the server's error if something else is there.
local function readHolders(known, id)
  -- Where it is known what to expect, nothing else is asked for: an error costs more than an answer.
  it.first = known and pcall('ZRANGE', lock, 0, 0, 'WITHSCORES')
  it.token = false
  if not it.first or it.first.err or not it.first[1] then
    it.token = pcall('GET', lock)
    if type(it.token) == 'table' then
      it.first = match(it.token.err, 'WRONGTYPE') and pcall('ZRANGE', lock, 0, 0, 'WITHSCORES')
      if not it.first or it.first.err then return it.token end
      it.token = false
    end
  end
  it.isShared = not it.token and it.first and it.first[1] and true or false
  if not it.isShared then
    it.first = nil
    -- The leases of several have ended.
    if known then
      call('DEL', state)
      it.hasState, it.mine = false, nil
    end
    it.held, it.count = 0, 0
    return
  end
  if not match(it.first[1], '%x%.%d+ %d+$') then return {err = 'WRONGTYPE'} end
  readTime()
  if call('ZCARD', lock) ~= it.count then
    recount()
    it.mine = id and call('HGET', state, id)
  end
  if tonumber(it.first[2]) > it.now then return end
  for _, member in ipairs(call('ZRANGEBYSCORE', lock, '-inf', it.now, 'LIMIT', 0, mostDropped)) do
    if member == it.mine then it.mine = nil end
    dropHolder(member)
  end
end

-- Reads a lock and its queue, and what an acquisition has. Answers the server's error if something else is there.
local function open(at, id)
  lock, fences, queue, waiters, inboxes, state = unpack(KEYS, at + 1, at + 6)
  it.boxes, it.entries, it.turns, it.inFront, it.hasEntered = {}, {}, {}, nil, false
  it.reserved, it.dropsLeft, it.hasMore, it.isUnheard, it.longest, it.longestWait = 0, mostDropped, false, false, remembered, remembered
  local known = pcall('HMGET', state, 'kind', 'capacity', 'held', 'count', 'ticket', 'seen', 'offset', id)
  if known.err then return known end
  it.kind, it.capacity, it.hasState, it.mine = known[1], tonumber(known[2] or nil), known[4], known[8] or nil
  it.held, it.count = tonumber(known[3] or 0), tonumber(known[4] or 0)
  it.ticket, it.seen, it.offset = tonumber(known[5] or 0), tonumber(known[6] or 0), tonumber(known[7] or 0)
  it.waiting = pcall('ZCARD', queue)
  if type(it.waiting) == 'table' then return it.waiting end
  it.hadWaiters = it.waiting > 0
  if it.hadWaiters then
    useQueue()
    readTime()
  end
  local failed = readHolders(it.count > 0, id)
  if failed then return failed end
  -- Nobody knows what the waiters wait for. They miss their entries, and enter again.
  if it.waiting > 0 and not it.kind then
    call('DEL', queue, waiters, inboxes)
    it.waiting, it.hadWaiters = 0, false
  end
  if it.waiting == 0 and not it.isShared then it.kind, it.capacity = it.token and 'exclusive', 1 end
  -- A plain acquire may have taken a lock for several while nobody had it.
  if it.token then
    it.held = it.capacity
    it.mine = it.kind == 'exclusive' and match(it.token, '^(.*)%.%d+$') == id and it.token or nil
  end
end

-- Writes down what is known now of a lock that somebody waits for, or that several have: of one of these, its member. Of any other
-- lock nothing is left.
local function finish(id, member)
  if it.hadWaiters or it.hasEntered then
    for inbox, own in pairs(it.boxes) do
      if own.entries > 0 then
        call('HSET', inboxes, inbox, format('%s %.0f %d %s', own.generation, own.alive, own.entries, own.ear))
      else
        call('HDEL', inboxes, inbox)
      end
    end
    -- An eviction may have left something.
    if it.waiting == 0 then call('DEL', waiters, inboxes) end
  end
  if it.waiting == 0 and it.count == 0 then
    if it.hasState then call('DEL', state) end
    return
  end
  local fields = {'held', it.held, 'count', it.count, 'ticket', it.ticket, 'seen', it.seen, 'offset', it.offset}
  -- After an eviction nobody knows the kind, until somebody asks for the lock.
  for _, field in ipairs(it.kind and {'kind', it.kind, 'capacity', it.capacity} or {}) do fields[#fields + 1] = field end
  if member then fields[#fields + 1], fields[#fields + 2] = id, member end
  call('HSET', state, unpack(fields))
  -- The keys of a queue are kept together. The state of several holders is kept for longer.
  local isShort = it.waiting > 0 and (it.hasEntered or call('PTTL', queue) < it.longestWait)
  if isShort then
    for _, key in ipairs({queue, waiters, inboxes}) do keep(key, it.longestWait) end
  end
  it.longest = max(it.longest, it.longestWait)
  if not it.hasState then
    call('PEXPIRE', state, it.longest + slack)
  elseif isShort or it.count > 0 then
    keep(state, it.longest)
  end
end

-- Only what is before 32 random digits is a name: of a foreign holder's value nothing is told.
local function nameOf(value)
  local name, random = match(value or '', '^([%w_-]+)%.(%x+)%.%d+ ?%d*$')
  return name and #random == 32 and name or ''
end

local function holderName()
  return nameOf(it.token or it.isShared and firstHolder()[1])
end

-- Records how the lease of an acquisition ended, for a repeat of the request that ended it (see acquire.lua of the plain lock).
local function mark(id)
  local base, last = match(tostring(pcall('GET', fences)), '^((%x+)%.%d+)')
  local random = string.sub(id, -32)
  if base and (last == random or it.kind ~= 'exclusive') then
    pcall('SET', fences, base .. '.' .. random .. '.released', 'XX', 'KEEPTTL')
  end
end

local function hasEnded(value)
  local ended, how = match(tostring(pcall('GET', fences)), '%.(%x+)%.(%a+)$')
  return ended and string.find(value, ended, 1, true) and how
end

-- Extends the lease of one of several holders to `ttl` ms, a number. A lease with more time left keeps it.
local function extend(member, ttl)
  call('ZADD', lock, 'GT', it.now + ttl, member)
  if it.count == 0 or ttl > call('PTTL', lock) then call('PEXPIRE', lock, ttl) end
  it.longest, it.first = max(it.longest, ttl), nil
end

-- Ends a lease. A full server refuses a SET before a DEL, and accepts one after it.
local function release(member, id)
  if it.isShared then
    dropHolder(member)
    -- The key ends with the last of those that are left, so that a plain acquire is not refused for nobody.
    if it.isShared then call('PEXPIRE', lock, call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2] - it.now) end
  else
    call('DEL', lock)
    it.token, it.held = false, 0
  end
  mark(id)
end

-- Tells waiters that do not queue. Where more is left to be dropped, it makes a process of those that queue look.
local function announce(channel, fence)
  local told = pcall('PUBLISH', channel, 'released ' .. fence)
  return type(told) == 'number' and told or -1
end
