-- Prepended to a script, counts the commands that it calls, and the values that it passes to them and gets back. Setting an expiry
-- does not count: scripts do that only if enough of the last one has passed.
local commands, values = 0, 0
local function weigh(value)
  if type(value) ~= 'table' then
    values = values + 1
  else
    for _, each in ipairs(value) do weigh(each) end
  end
end
local function counting(carryOut)
  return function(name, ...)
    local reply = carryOut(name, ...)
    if name ~= 'PEXPIRE' then
      commands = commands + 1
      weigh({...})
      weigh(reply)
    end
    return reply
  end
end
local redis = {call = counting(redis.call), pcall = counting(redis.pcall)}
