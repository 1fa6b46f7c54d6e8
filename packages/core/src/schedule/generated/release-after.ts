// Generated from ../release-after.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const releaseAfter: Script<[], [lock: string, record: string], [token: string, after: string, channel: string]> = {
  sha1: '75fc0db73b75771bbc689857e61cb82240b38787',
  text: `local a,b,c,d=redis.call,redis.pcall,string.match,string.sub;local function e(f,g,h,i,j)local k=b('GET',f)if type(k)=='table'then return{'failed',k.err}end;local l=tostring(b('GET',g))local m,n,o=c(h,'^(.-)(%x+)%.(%d+)$')if h~=k or not o then local p,q=c(l,'%.(%x+)%.(%a+)$')if p and p==n then return{q,-2}end;return{k and'superseded'or'gone'}end;a('PEXPIRE',f,i)b('SET',f,m..string.rep('0',32)..'.'..o,'XX','KEEPTTL')local r,s=c(l,'^((%x+)%.%d+)')if n==s then b('SET',g,r..'.'..n..'.released','XX','KEEPTTL')end;local t=b('PUBLISH',j,'released '..o)return type(t)=='table'and-1 or t end;local u={}for v=1,#KEYS/2 do u[v]=e(KEYS[2*v-1],KEYS[2*v],ARGV[3*v-2],ARGV[3*v-1],ARGV[3*v])end;return u`,
}
