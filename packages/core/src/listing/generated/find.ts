// Generated from ../find.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const find: Script<[cursor: string, pattern: string, prefix: string], [node: string], []> = {
  sha1: 'ab0954b5fd82a9708f5b9004b2f79a0683afebb4',
  text: `local a,b,c,d=ARGV[1],ARGV[2],ARGV[3],KEYS[1]local e,f,g,h=250,20,1000,250;local i,j=redis.call,string.sub;local function k()local l=i('TIME')return l[1]*1000000+l[2]end;local m={'found',a}local n=d and k()+g;for o=1,f do local p=i('SCAN',m[2],'MATCH',b,'COUNT',e)m[2]=p[1]for o,q in ipairs(p[2])do if j(q,1,#c)==c or string.match(q,'^{.*:queue$')then m[#m+1]=q end end;if m[2]=='0'or#m>h or k()>n then break end end;return{m}`,
}
