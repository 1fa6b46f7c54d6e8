-- Tries each command that the locks' scripts use, on records of its own, and leaves nothing for longer than a second.
-- @key text      a record that no lock has
-- @key hash      a second such record, for the commands of queues
-- @key order     a third one
-- @each channel  where releases of that lock would be announced
-- @returns {"tried", name, error, ...}  the commands that failed, each with the server's words
local function try(failed, ...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    failed[#failed + 1] = string.lower((...))
    failed[#failed + 1] = reply.err
  end
end

local function tried(text, hash, order, channel)
  local failed = {'tried'}
  try(failed, 'TIME')
  try(failed, 'SET', text, '1', 'PX', '1000')
  try(failed, 'GET', text)
  try(failed, 'MGET', text)
  try(failed, 'PTTL', text)
  try(failed, 'PEXPIRE', text, '1000')
  try(failed, 'PUBLISH', channel, 'released -')
  try(failed, 'PUBSUB', 'NUMSUB', channel)
  try(failed, 'HSET', hash, 'a', '1')
  redis.pcall('PEXPIRE', hash, '1000')
  try(failed, 'HGET', hash, 'a')
  try(failed, 'HMGET', hash, 'a')
  try(failed, 'HDEL', hash, 'a')
  try(failed, 'ZADD', order, '1', 'a')
  redis.pcall('PEXPIRE', order, '1000')
  try(failed, 'ZCARD', order)
  try(failed, 'ZSCORE', order, 'a')
  try(failed, 'ZMSCORE', order, 'a')
  try(failed, 'ZRANK', order, 'a')
  try(failed, 'ZRANGE', order, '0', '0')
  try(failed, 'ZRANGEBYSCORE', order, '1', '1')
  try(failed, 'ZREM', order, 'a')
  try(failed, 'DEL', text, hash, order)
  return failed
end

local replies = {}
for i = 1, #KEYS / 3 do
  replies[i] = tried(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[i])
end
return replies
