// Generated from ../release.lua; run `pnpm generate`.
import type { Script } from '../script.ts'

export const release: Script<[word: string], [lock: string], [token: string, channel: string]> = {
  sha1: 'fb1e1548b6b744613496194b754fe0e103dfac54',
  text: `local word = ARGV[1]
local function release(lock, token, channel)
local holder = redis.pcall('GET', lock)
if not holder then return {'gone'} end
local owner, fence
if type(holder) == 'string' then owner, fence = string.match(holder, '^(.*)%.(%d+)$') end
if token ~= '' and token ~= holder and token ~= owner then return {'superseded'} end
redis.call('DEL', lock)
local told = redis.pcall('PUBLISH', channel, word .. ' ' .. (fence or '-'))
return {'released', type(told) == 'number' and told or -1}
end
local replies = {}
for i = 1, #KEYS do
replies[i] = release(KEYS[i], ARGV[2 * i], ARGV[2 * i + 1])
end
return replies`,
}
