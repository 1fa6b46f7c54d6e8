// Generated from ../elsewhere.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const elsewhere: Script<[prefix: string], [node: string], []> = {
  sha1: '638fc603cff8ddeba1e726d20fd25a0507b2578a',
  text: `local a,b=ARGV[1],KEYS[1]local c,d='0',''for e=1,b and 4 do local f=redis.pcall('SCAN',c,'MATCH','{*}*:fence','COUNT',500)if f.err then break end;c=f[1]for e,g in ipairs(f[2])do local h=string.match(g,'^{([^}]+)}:fence$')or string.match(g,'^{[^}]+}:(.+):fence$')if h and not string.find(h,'leasehold-check:',1,true)then if string.sub(h,1,#a)==a then return{{'seen',h}}end;d=h end end;if c=='0'then break end end;return{{'seen',d}}`,
}
