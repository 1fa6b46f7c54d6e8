-- Reads a key's record and who has its lock, and changes nothing.
-- @key lock    the lock's entry
-- @key record  the key's record (see claim.lua)
-- @returns {"state", record, pttl, holder}  record "" means none; holder is {pttl, fence, name} as "held" of acquire.lua has them, or {}
-- @returns {"failed", error}                the server's own error about a key; WRONGTYPE: something else is there
local call, pcall, match = redis.call, redis.pcall, string.match
local lock, record = unpack(KEYS)

local holder, stored = pcall('GET', lock), pcall('GET', record)
for _, value in ipairs({holder, stored}) do
  if type(value) == 'table' then return {{'failed', value.err}} end
end
local seen = {}
if holder then
  local holdersId, fence = match(holder, '^(.*)%.(%d+)$')
  local name, random = match(holdersId or '', '^([%w_-]+)%.(%x+)$')
  seen = {call('PTTL', lock), fence and #fence <= 128 and fence or '-', name and #random == 32 and name or ''}
end
return {{'state', stored or '', call('PTTL', record), seen}}
