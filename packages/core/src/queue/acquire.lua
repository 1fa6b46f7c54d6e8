-- Takes a lock, of one holder or of several, or enters the waiter into its queue.
-- @arg memory     how long to keep a fence record, at least, ms
-- @arg channels   what the channels of inboxes begin with
-- @arg believes   "1" where a PUBLISH counts every subscriber; otherwise empty
-- @key lock       the lock's entry (see turns.part.lua for this and the following)
-- @key fences     the fence record (see acquire.lua of the plain lock)
-- @key queue      who waits, in order
-- @key waiters    what is known of each
-- @key inboxes    what is known of each inbox
-- @key state      what is known of the lock
-- @key holders    those of a lock for several
-- @each channel   the lock's release channel
-- @each id        the acquisition id, kept through retries
-- @each ttl       milliseconds until the lock frees itself
-- @each wanted    the kind of lock
-- @each permitted its capacity
-- @each permits   how many of them to take
-- @each name      the waiter's; empty for none
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
local memory, channels, believes, channel, id, ttl, wanted, permitted, permits, name, listens, alive, window, step = unpack(ARGV)
permitted, permits = tonumber(permitted), tonumber(permits)
local random = string.sub(id, -32)
local kept = tonumber(ttl) > tonumber(memory) and ttl or memory

local function again(member)
  if isShared then
    extend(member, tonumber(ttl))
  elseif tonumber(ttl) > call('PTTL', lock) then
    call('PEXPIRE', lock, ttl)
  end
  if tonumber(kept) > call('PTTL', fences) then call('PEXPIRE', fences, kept) end
  return match(member, '^%S+')
end

local function acquire()
  local failed = open(0)
  if failed then return {'failed', failed.err} end
  local last = pcall('GET', fences)
  if type(last) == 'table' then return {'failed', last.err} end
  local lastRandom, lastFence, ending = match(last or '', '^(%x+)%.(%d+)(.*)$')
  local inbox = inboxOf(name)
  local asking, reply

  local function grant()
    if asking then remove(name) end
    local fence = format('%.0f', max((lastFence or 0) + 1, micros))
    reply = id .. '.' .. fence
    if kind == 'exclusive' then
      call('SET', lock, reply, 'PX', ttl)
      token, held = reply, 1
    else
      local member = reply .. ' ' .. permits
      extend(member, tonumber(ttl))
      call('HSET', holders, id, member)
      keep(holders, longest)
      isShared, held, count = true, held + permits, count + 1
    end
    -- The ending is carried over, as in acquire.lua of the plain lock.
    call('SET', fences, random .. '.' .. fence .. (ending or ''), 'PX', kept)
  end

  -- On a full server who waits already, or has the lock, goes on: it accepts what comes after a command that takes no memory.
  local isIn = waiting > 0 and inbox and call('ZSCORE', queue, name)
  local member = memberOf(id)
  if isIn or member then call('ZREM', queue, '') end
  if waiting > 0 then begin() end
  if inbox and waiting > 0 then hear(inbox, alive, listens, channels, believes) end
  if member or lastRandom == random then
    reply = member and again(member) or {'spent'}
    finish()
    return reply
  end

  if waiting > 0 then
    front()
    waiting = call('ZCARD', queue)
    asking = isIn and stands(entryOf(name))
  end
  if waiting == 0 and not isShared then kind, capacity = token and 'exclusive', 1 end
  local isOther = token and wanted ~= 'exclusive' or kind and (kind ~= wanted or capacity ~= permitted) or permits > permitted
  if isOther and not asking then
    local found = {'kind', token and wanted ~= 'exclusive' and 'exclusive' or kind or wanted, token and 1 or kind and capacity or permitted}
    if kind then move(channels, channel, believes) end
    finish()
    return found
  end
  if not asking then kind, capacity = wanted, permitted end
  if inbox and not asking then ticket = max(ticket + 1, micros + offset) end
  if waiting == 0 and permits <= capacity - held then
    grant()
  elseif inbox then
    if not asking then
      hear(inbox, alive, listens, channels, believes)
      -- A void one of the same name.
      if entryOf(name) then remove(name) end
      local own = box(inbox)
      own.generation = own.generation or format('%.0f', ticket)
      own.entries = own.entries + 1
      local place = format('%.0f', ticket + step)
      call('ZADD', queue, place, name)
      call('HSET', waiters, name, own.generation .. ' ' .. place .. ' ' .. permits .. ' ' .. window)
      longestWait = max(longestWait, alive + window)
      entries[name], inFront, hasEntered, asking = nil, nil, true, true
    end
    move(channels, channel, believes, name, grant)
  elseif waiting > 0 then
    -- Perhaps all who wait are dead, and that shows only now.
    move(channels, channel, believes)
    if call('ZCARD', queue) == 0 and permits <= capacity - held then grant() end
  end
  finish()
  if reply then return reply end
  if not inbox then return {'held', leaseLeft(), holderName()} end
  return {'queued', call('ZRANK', queue, name), soonest(), holderName()}
end

return {acquire()}
