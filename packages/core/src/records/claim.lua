-- Claims a key's record for a run, and takes the lock and mints the fence in the same step; or reports what became of
-- the record.
-- @arg memory        how long to keep a fence record, at least, ms
-- @key lock          the lock's entry (see acquire.lua)
-- @key fences        the fence record (see acquire.lua)
-- @key record        "<state> <token of its run> <fingerprint> <more>"; more is, of a done one, its result; of a running one, the
--                    token of the run in doubt that it replaced, then that of the first such run, if there were several
-- @each id           the acquisition id, kept through retries
-- @each ttl          milliseconds until the lock frees itself
-- @each fingerprint  tells requests with the same key apart
-- @each keep         milliseconds until the record of a run that does not end is forgotten
-- @each rerun        "rerun" to claim a record in doubt too; otherwise empty
-- @returns {"claimed", token, fence}       now or before: then expiries are extended; the fence is that of a run left in doubt
-- @returns {"done", record, pttl}          its state is not running
-- @returns {"mismatch"}                    claimed with another fingerprint
-- @returns {"busy", pttl, fence, name}     as "held" of acquire.lua
-- @returns {"in-doubt", record, pttl}      running, and nobody has the lock
-- @returns {"spent"}                       this claim came and went
-- @returns {"failed", error}               the server's own error about a key; WRONGTYPE: something else is there
-- @returns {"other"}                       the record is none of ours
local call, pcall, match = redis.call, redis.pcall, string.match
local lock, fences, record = unpack(KEYS)
local memory, id, ttl, fingerprint, keep, rerun = unpack(ARGV)

local function isMine(token)
  return token and match(token, '^(.*)%.%d+$') == id
end

local function extend(key, ms)
  if tonumber(ms) > call('PTTL', key) then call('PEXPIRE', key, ms) end
end

local function claim()
  local holder, last, stored = pcall('GET', lock), pcall('GET', fences), pcall('GET', record)
  for _, value in ipairs({holder, last, stored}) do
    if type(value) == 'table' then return {'failed', value.err} end
  end
  local state, owner, print, more = match(stored or '', '^(%S+) (%S+) (%S+) ?(.*)$')
  if stored and not state then return {'other'} end
  local kept = tonumber(ttl) > tonumber(memory) and ttl or memory

  if state == 'running' and isMine(owner) or not stored and isMine(holder) then
    if stored and owner ~= holder then return {'spent'} end
    if not stored then
      -- The record was evicted. Nobody else can have claimed the key meanwhile.
      local set = pcall('SET', record, 'running ' .. holder .. ' ' .. fingerprint, 'PX', keep)
      if set.err then return set end
    end
    extend(lock, ttl)
    extend(fences, kept)
    extend(record, keep)
    return {'claimed', holder, match(more or '', '^%S*%.(%d+)') or ''}
  end

  if stored and print ~= fingerprint then return {'mismatch'} end
  if stored and state ~= 'running' then return {'done', stored, call('PTTL', record)} end
  if holder then
    -- See acquire.lua.
    local holdersId, fence = match(holder, '^(.*)%.(%d+)$')
    local name, random = match(holdersId or '', '^([%w_-]+)%.(%x+)$')
    return {'busy', call('PTTL', lock), fence and #fence <= 128 and fence or '-', name and #random == 32 and name or ''}
  end
  if stored and rerun == '' then return {'in-doubt', stored, call('PTTL', record)} end

  local random = string.sub(id, -32)
  local lastRandom, lastFence, ending = match(last or '', '^(%x+)%.(%d+)(.*)$')
  if lastRandom == random then return {'spent'} end
  local overtook = owner and match(owner, '%d+$') or ''
  local now = call('TIME')
  -- The fence record may be gone while the record is still there.
  local fence = math.max((lastFence or 0) + 1, (tonumber(overtook) or 0) + 1, now[1] * 1000000 + now[2])
  fence = string.format('%.0f', fence)
  local token = id .. '.' .. fence
  local before = ''
  if owner then
    -- Undoing this claim leaves the key in doubt as it was (see abandon.lua). The runs in between are left out, because
    -- a chain of reruns may be long.
    before = owner .. (match(' ' .. more, ' %S+$') or '')
    keep = math.max(keep, call('PTTL', record))
  end
  -- A full server refuses the first write, before anything has changed, and none after it.
  local set = pcall('SET', record, 'running ' .. token .. ' ' .. fingerprint .. ' ' .. before, 'PX', keep)
  if set.err then return set end
  call('SET', lock, token, 'PX', ttl)
  -- The ending is carried over, as in acquire.lua.
  call('SET', fences, random .. '.' .. fence .. (ending or ''), 'PX', kept)
  return {'claimed', token, overtook}
end

local reply = claim()
return reply.err and reply or {reply}
