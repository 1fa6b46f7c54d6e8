// Generated from ../release-after.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'

export const releaseAfter: Script<[], [lock: string, record: string], [token: string, after: string, channel: string]> = {
  sha1: 'd507b1e666f0ab1d0dd5b7f38bcb40a43172c06e',
  text: `local a,b,c=redis.call,redis.pcall,string.match;local function d(e,f,g,h,i)local j=b('GET',e)if type(j)=='table'then return{'failed',j.err}end;local k=tostring(b('GET',f))local l,m,n=c(g,'^(.-)(%x+)%.(%d+)$')if g~=j or not n then local o,p=c(k,'%.(%x+)%.(%a+)$')if o and o==m then return{p,-2}end;return{j and'superseded'or'gone'}end;a('PEXPIRE',e,h)b('SET',e,l..string.rep('0',32)..'.'..n,'XX','KEEPTTL')local q,r=c(k,'^((%x+)%.%d+)')if m==r then b('SET',f,q..'.'..m..'.released','XX','KEEPTTL')end;local s=b('PUBLISH',i,'released '..n)return type(s)=='table'and-1 or s end;local t={}for u=1,#KEYS/2 do t[u]=d(KEYS[2*u-1],KEYS[2*u],ARGV[3*u-2],ARGV[3*u-1],ARGV[3*u])end;return t`,
}
