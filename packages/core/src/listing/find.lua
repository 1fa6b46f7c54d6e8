-- Finds names of locks and of queues, from where the last call ended. Returns soon, so that it holds up nobody else.
-- @arg cursor   where the last call ended; "0" to begin
-- @arg pattern  matches the names of locks, and of the keys beside them
-- @arg prefix   what the name of a lock begins with
-- @key node     any key that would lie on the node to search
-- @returns {"found", cursor, name, ...}  cursor "0" at the end; a name may come more than once
local cursor, pattern, prefix, node = ARGV[1], ARGV[2], ARGV[3], KEYS[1]
-- The number of keys that a step walks, and the most steps of a call: fewer if they take long or find many names.
local step, mostSteps, mostMicros, mostNames = 250, 20, 1000, 250
local call, sub = redis.call, string.sub

local function micros()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

local found = {'found', cursor}
local till = node and micros() + mostMicros
for _ = 1, mostSteps do
  local reply = call('SCAN', found[2], 'MATCH', pattern, 'COUNT', step)
  found[2] = reply[1]
  for _, name in ipairs(reply[2]) do
    if sub(name, 1, #prefix) == prefix or string.match(name, '^{.*:queue$') then found[#found + 1] = name end
  end
  if found[2] == '0' or #found > mostNames or micros() > till then break end
end
return {found}
