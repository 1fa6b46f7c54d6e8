-- Returns what a server is and what its clock says, and touches no key.
-- @key lock  a key of the node to ask
-- @returns {"survey", seconds, micros, info}  info: the server's report on itself, "" if the user may not ask for it
-- Other operator commands (CONFIG, ROLE, ACL) are not allowed from a script.
local now = redis.pcall('TIME')
if now.err then return now end
local info = redis.pcall('INFO')
if type(info) ~= 'string' then info = '' end
local replies = {}
for i, lock in ipairs(KEYS) do replies[i] = {'survey', now[1], now[2], info} end
return replies
