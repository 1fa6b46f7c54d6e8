-- Prepended to a script, gives it another time and other subscribers: the last arguments are the server's time, in ms, and how many
-- subscribers each channel has. Expiries are kept in a sorted set, and expired keys are deleted first. Every message is
-- kept in a list.
local expiries, messages = 'virtual:expiries', 'virtual:messages'
local subscribers = cjson.decode(table.remove(ARGV))
local virtualNow = tonumber(table.remove(ARGV))
local real = redis
for _, key in ipairs(real.call('ZRANGEBYSCORE', expiries, '-inf', virtualNow)) do
  real.call('DEL', key)
  real.call('ZREM', expiries, key)
end
local function expire(key, ms)
  real.call('ZADD', expiries, virtualNow + ms, key)
end
local function virtual(carryOut)
  return function(name, key, ...)
    local args = {...}
    if name == 'TIME' then
      return {tostring(math.floor(virtualNow / 1000)), tostring(virtualNow % 1000 * 1000)}
    elseif name == 'PTTL' then
      if real.call('EXISTS', key) == 0 then return -2 end
      local at = real.call('ZSCORE', expiries, key)
      return at and at - virtualNow or -1
    elseif name == 'PEXPIRE' then
      if real.call('EXISTS', key) == 1 then expire(key, args[1]) end
      return 1
    elseif name == 'PUBLISH' then
      real.call('RPUSH', messages, key .. ' ' .. args[1])
      return subscribers[key] or 0
    elseif name == 'PUBSUB' then
      return {args[1], subscribers[args[1]] or 0}
    elseif name == 'SET' then
      local kept, rest, ms = false, {}, nil
      for i, arg in ipairs(args) do
        if arg == 'KEEPTTL' then kept = true end
        if arg == 'PX' then ms = args[i + 1] end
        if arg ~= 'PX' and args[i - 1] ~= 'PX' then rest[#rest + 1] = arg end
      end
      local reply = carryOut('SET', key, unpack(rest))
      if reply and reply.ok then
        if ms then expire(key, ms) elseif not kept then real.call('ZREM', expiries, key) end
      end
      return reply
    end
    local reply = carryOut(name, key, ...)
    if name == 'DEL' or name == 'ZREM' or name == 'HDEL' then
      for _, touched in ipairs(name == 'DEL' and {key, ...} or {key}) do
        if real.call('EXISTS', touched) == 0 then real.call('ZREM', expiries, touched) end
      end
    end
    return reply
  end
end
local redis = {call = virtual(real.call), pcall = virtual(real.pcall)}
