-- Takes a lock, for one holder or for several, or enters the waiter into its queue.
-- @arg memory     how long to keep a fence record, at least, ms
-- @arg channels   what the channels of inboxes begin with
-- @arg believes   "1" where a PUBLISH counts every subscriber; otherwise empty
-- @key lock       the lock's entry (see turns.part.lua for this and the following)
-- @key fences     the fence record (see acquire.lua of the plain lock)
-- @key queue      who waits, in order
-- @key waiters    what is known of each
-- @key inboxes    what is known of each inbox
-- @key state      what is known of the lock
-- @each channel   the lock's release channel
-- @each id        the acquisition id, kept through retries
-- @each ttl       milliseconds until the lock frees itself
-- @each wanted    the kind of lock
-- @each permitted its capacity
-- @each permits   how many permits to take
-- @each name      the waiter's name; empty for none
-- @each listens   "1" if its inbox is subscribed to; otherwise empty
-- @each alive     milliseconds until the inbox is taken for dead
-- @each window    milliseconds for which the waiter keeps a turn
-- @each step      µs to add to its ticket
-- @returns token                        granted, now or before: then the expiry is extended, and never shortened
-- @returns {"queued", at, again, name}  it waits; again -1 if nothing is known to end, name "" if the holder has none
-- @returns {"held", pttl, name}         without a waiter: held, or others wait; pttl -1 if that is not known
-- @returns {"spent"}                    this acquisition's grant came and went; nothing is granted or entered
-- @returns {"kind", kind, capacity}     the lock is of this kind and capacity
-- @returns {"failed", error}            the server's own error about a key; WRONGTYPE: something else is there
-- @include turns.part.lua
local memory, channels, believes = unpack(ARGV)
local channel, id, ttl, wanted, permitted, permits, name, listens, alive, window, step
local kept, inbox, random, lastFence, ending, asking, granted

local function grant()
  if asking then remove(name) end
  local fence = format('%.0f', max((lastFence or 0) + 1, it.micros))
  granted = id .. '.' .. fence
  if it.kind == 'exclusive' then
    call('SET', lock, granted, 'PX', ttl)
    it.token, it.held = granted, 1
  else
    local member = granted .. ' ' .. permits
    extend(member, ttl)
    it.mine, it.isShared, it.held, it.count = member, true, it.held + permits, it.count + 1
  end
  -- The ending is carried over, as in acquire.lua of the plain lock.
  call('SET', fences, random .. '.' .. fence .. (ending or ''), 'PX', kept)
end

-- A retry finds its own grant.
local function again()
  if it.isShared then
    extend(it.mine, ttl)
  elseif ttl > call('PTTL', lock) then
    call('PEXPIRE', lock, ttl)
  end
  if kept > call('PTTL', fences) then call('PEXPIRE', fences, kept) end
  return match(it.mine, '^%S+')
end

-- Returns the lock's kind and capacity if they differ from what is asked for, while somebody has it or waits for it.
local function otherKind()
  if it.token and wanted ~= 'exclusive' then return {'kind', 'exclusive', 1} end
  if it.kind and (it.kind ~= wanted or it.capacity ~= permitted) then return {'kind', it.kind, it.capacity} end
  if permits > permitted then return {'kind', wanted, permitted} end
end

local function enter()
  useQueue()
  if not it.hadWaiters then hear(inbox, alive, listens, channels, believes) end
  -- A void entry of the same name.
  if entryOf(name) then remove(name) end
  local own, place = box(inbox), format('%.0f', it.ticket + step)
  -- No other inbox, and no earlier one of this name, has the same generation.
  own.generation = own.generation or format('%.0f', it.ticket)
  own.entries = own.entries + 1
  call('ZADD', queue, place, name)
  call('HSET', waiters, name, own.generation .. ' ' .. place .. ' ' .. permits .. ' ' .. window)
  it.longestWait = max(it.longestWait, alive + window)
  it.waiting = it.waiting + 1
  it.entries[name], it.hasEntered, asking = nil, true, true
  if it.inFront and it.ticket + step <= tonumber(it.inFront.place) then it.inFront = nil end
end

-- Returns the reply, or nothing if the waiter waits or the lock is held.
local function take(lastRandom)
  -- Whoever waits already, or has the lock, goes on even when the server is full: it accepts what follows a command
  -- that takes no memory.
  local isIn = inbox and it.waiting > 0 and call('ZSCORE', queue, name)
  if isIn or it.mine then call('ZREM', queue, '') end
  if it.waiting > 0 then
    begin()
    if inbox then hear(inbox, alive, listens, channels, believes) end
  end
  if it.mine then return again() end
  if lastRandom == random then return {'spent'} end

  if it.waiting > 0 then
    front()
    asking = isIn and stands(entryOf(name))
  end
  if it.waiting == 0 and not it.isShared then it.kind, it.capacity = it.token and 'exclusive', 1 end
  if not asking then
    local other = otherKind()
    if other then
      if it.waiting > 0 then move(channels, channel, believes) end
      return other
    end
    it.kind, it.capacity = wanted, permitted
    if inbox then it.ticket = max(it.ticket + 1, it.micros + it.offset) end
  end
  if it.waiting == 0 and permits <= it.capacity - it.held then
    grant()
  elseif inbox then
    if not asking then enter() end
    move(channels, channel, believes, name, grant)
  elseif it.waiting > 0 then
    -- Perhaps all waiters are dead, which shows only now.
    move(channels, channel, believes)
    if it.waiting == 0 and permits <= it.capacity - it.held then grant() end
  end
  return granted
end

local function acquire(at)
  local failed = open(at, id)
  local last = not failed and pcall('GET', fences)
  if type(last) == 'table' then failed = last end
  if failed then return {'failed', failed.err} end
  readTime()
  local lastRandom
  lastRandom, lastFence, ending = match(last or '', '^(%x+)%.(%d+)(.*)$')
  local reply = take(lastRandom)
  finish(id, it.isShared and it.mine)
  if reply then return reply end
  if not inbox then return {'held', leaseLeft(), holderName()} end
  return {'queued', call('ZRANK', queue, name), soonest(), holderName()}
end

local replies = {}
for i = 1, #KEYS / 6 do
  channel, id, ttl, wanted, permitted, permits, name, listens, alive, window, step = unpack(ARGV, 11 * i - 7, 11 * i + 3)
  ttl, permitted, permits = tonumber(ttl), tonumber(permitted), tonumber(permits)
  kept = max(ttl, tonumber(memory))
  inbox, random = inboxOf(name), string.sub(id, -32)
  lastFence, ending, asking, granted = nil, nil, nil, nil
  replies[i] = acquire(6 * i - 6)
end
return replies
