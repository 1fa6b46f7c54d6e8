-- The rules that the queue's scripts share. Each script includes this text, opens a lock, changes it and closes it.
--
-- lock     for one holder the plain lock's entry; for several a sorted set of "<token> <permits>", scored by expiry, in ms
-- queue    a sorted set of waiters' names, "<inbox>.<number>". One with the turn has the score <end of its window> - 1e15, in ms, so
--          that it comes first; all others have a ticket, in µs
-- waiters  a hash: name → "<generation> <ticket> <permits> <window>"
-- inboxes  a hash: inbox → "<generation> <alive until> <entries> <ear>". The ear is 1 if the server has counted a subscriber in the
--          last call of the inbox, 0 if not, and - if the inbox is a name only
-- state    a hash: kind, capacity; permits and holders of a lock for several; last ticket, and the queue's clock. Also, of a lock for
--          several, the member of each holder, by its acquisition id
--
-- All entries of an inbox are voided by forgetting the inbox: it gets another generation when it enters again. Tickets,
-- windows and inboxes follow the queue's own time, which goes on when the server's clock is set back.
local call, pcall, match, format, floor, max = redis.call, redis.pcall, string.match, string.format, math.floor, math.max
local turnBase, mostTurns, mostDropped, remembered, slack, mostEnded = 1e15, 100, 100, 60000, 30000, 1000
local lock, fences, queue, waiters, inboxes, state
-- What this call has read of the lock and its queue, and what it has done. It is a table because Redis makes the
-- functions below anew for each call, and each local that they share would add to the cost of each.
-- micros, now, beat               the server's time, in µs and in ms, and the queue's, in ms
-- token, isShared                 the token of a lock for one holder; whether several have the lock
-- mine                            what the acquisition that asks has: a token, or a member
-- kind, capacity                  if known
-- held, count                     how many permits are held, and by how many holders
-- waiting, hadWaiters             how many wait; whether anybody did before this call
-- hasState, ticket, seen, offset  whether the state is kept, and what it says of tickets and time
-- boxes, entries                  what was read of inboxes and of waiters
-- turns, reserved                 who has a turn, and for how many permits
-- inFront, first                  who is in front, and whose lease ends first; nil once that may have changed
-- dropsLeft, hasMore              how many more dead waiters may be dropped; whether some, or holders whose leases have ended,
--                                 are left for the next call
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

-- How long until the first lease ends, in ms; -1 if none is known to end.
local function leaseLeft()
  return it.token and call('PTTL', lock) or it.isShared and max(0, firstHolder()[2] - it.now) or -1
end

-- What only a lock with waiters needs. Redis makes the functions of a script anew for each call, so these are made only
-- when the call meets the first such lock.
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

  -- Whether the entry is one that its inbox counts.
  local function isCounted(entry)
    return entry and entry.generation == box(inboxOf(entry.name)).generation
  end

  -- Whether its inbox was not voided since it entered, and it does not want more than the capacity.
  function stands(entry)
    return isCounted(entry) and entry.permits <= it.capacity
  end

  -- Takes a waiter out of the queue. Returns whether it was in it.
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

  -- Ends the turn of a waiter. Returns its entry, or nil if it had no turn.
  function endTurn(name)
    for at, entry in ipairs(it.turns) do
      if entry.name == name then return takeTurnFrom(at) end
    end
  end

  -- Voids all entries of an inbox.
  local function forget(inbox)
    it.boxes[inbox], it.inFront = {alive = 0, entries = 0}, nil
    for at = #it.turns, 1, -1 do
      if inboxOf(it.turns[at].name) == inbox then withdraw(at) end
    end
  end

  -- Which turn is the last in the order of tickets.
  local function lastTurn()
    local last = 1
    for at, entry in ipairs(it.turns) do
      local ahead = entry.place - it.turns[last].place
      if ahead > 0 or ahead == 0 and entry.name > it.turns[last].name then last = at end
    end
    return last
  end

  -- Reads the turns, and takes some back. If a turn can no longer be taken, because a plain acquire was quicker or the
  -- capacity shrank, that is not the waiter's fault. A turn that was not taken in its window voids its inbox: that
  -- process is frozen, or hears nothing.
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
        -- Its entry was evicted.
        it.waiting = it.waiting - call('ZREM', queue, name)
      end
    end
    while it.turns[1] and it.held + it.reserved > it.capacity do withdraw(lastTurn()) end
    while it.turns[1] and it.turns[1].till <= it.beat do forget(inboxOf(it.turns[1].name)) end
  end

  -- Keeps an inbox alive, and asks whether the server counts a subscriber: only then is a 0 from PUBLISH believed.
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
    -- pcall, for a user without permission: a waiter that is not told looks.
    local told = own.ear == '-' and pcall('PUBLISH', channel, 'turn ' .. entry.name)
      or own.ear ~= '-' and pcall('PUBLISH', channels .. inbox, 'turn ' .. number)
    if type(told) == 'table' then it.isUnheard = true end
    -- Somebody listened before and nobody does now: the process is dead. If that is wrong, its waiters lose their
    -- places.
    if told == 0 and own.ear == '1' and believes ~= '' then return forget(inbox) end
    entry.till = it.beat + entry.window
    it.turns[#it.turns + 1] = entry
    it.reserved, it.inFront = it.reserved + entry.permits, nil
    call('ZADD', queue, entry.till - turnBase, entry.name)
  end

  -- Drops waiters from the front that are void, dead or want more than the capacity, and returns the first of the
  -- others that has no turn.
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

  -- Gives the turn to waiters in front as long as they fit; one that does not fit is never skipped. For `asking`, the
  -- name of the waiter that asks, it calls `grant` instead.
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

-- How long until a look is worthwhile, in ms; -1 if nothing is known to end.
local function soonest()
  if it.hasMore then return 0 end
  local left = leaseLeft()
  for _, entry in ipairs(it.turns) do
    local window = entry.till - it.beat
    if left < 0 or window < left then left = window end
  end
  return left
end

-- Reads the time, for tickets, turns and the leases of several holders.
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

local function drop(members)
  local ids = {}
  for i, member in ipairs(members) do
    local id, permits = match(member, '^(.*)%.%d+ (%d+)$')
    ids[i], it.held = id, it.held - permits
  end
  call('ZREM', lock, unpack(members))
  call('HDEL', state, unpack(ids))
  it.count, it.first = it.count - #members, nil
  it.isShared = it.count > 0
end

-- Drops what the acquisition has if that lease has ended: a call may leave some of those.
local function dropMine()
  local till = it.mine and call('ZSCORE', lock, it.mine)
  if till and till - it.now > 0 then return end
  if till then drop({it.mine}) end
  it.mine = nil
end

-- Counts the holders anew: after an eviction, the state may not match them. It reads all of them, however many: until
-- they are counted, nobody can be granted anything.
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

-- Reads who has the lock. Returns the server's error if something else is there.
local function readHolders(known, id)
  -- If the state says what to expect, nothing else is asked for: an error costs more than an answer.
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
    -- The leases of all holders have ended.
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
  -- Those that are left count as holders until the next call, which is to come at once.
  drop(call('ZRANGEBYSCORE', lock, '-inf', it.now, 'LIMIT', 0, mostEnded))
  it.hasMore = it.isShared and leaseLeft() == 0
  dropMine()
end

-- Reads a lock and its queue, and what an acquisition has. Returns the server's error if something else is there.
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
  -- Nobody knows what kind of lock the waiters wait for. They find their entries missing, and enter again.
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

-- Stores what is now known of a lock that somebody waits for or that several have, and the `member` of one of these by
-- its `id`. Of any other lock, nothing is left.
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
  -- After an eviction, nobody knows the kind until somebody asks for the lock.
  for _, field in ipairs(it.kind and {'kind', it.kind, 'capacity', it.capacity} or {}) do fields[#fields + 1] = field end
  if member then fields[#fields + 1], fields[#fields + 2] = id, member end
  call('HSET', state, unpack(fields))
  -- The keys of a queue expire together. The state of several holders is kept for longer.
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

-- Only what precedes 32 random digits is a name: nothing of a foreign holder's value is revealed.
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
    drop({member})
    -- The key expires with the last of the leases that are left, so that a plain acquire is not refused when nobody has
    -- the lock.
    if it.isShared then call('PEXPIRE', lock, call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2] - it.now) end
  else
    call('DEL', lock)
    it.token, it.held = false, 0
  end
  mark(id)
end

-- Tells waiters that do not queue of a lease that has ended, by its fence. Without one, it makes processes with queued
-- waiters look, because more are left to be dropped.
local function announce(channel, fence)
  local told = pcall('PUBLISH', channel, 'released ' .. (fence or '-'))
  return type(told) == 'number' and told or -1
end
