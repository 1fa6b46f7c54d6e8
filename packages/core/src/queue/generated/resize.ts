// Generated from ../resize.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const resize: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, wanted: string, permitted: string]> = {
  sha1: 'ad7bfd939a347bf34ff0cbf2507bd99a276cc0fb',
  text: turnsPart + `channels,believes,channel,wanted,permitted=unpack(ARGV)local function resize()local failed=open(0,'')if failed then return{'failed',failed.err}end;local other=u and wanted~='exclusive'and'exclusive'or x~=wanted and x;if other or not x and not v then finish()return other and{'kind',other,u and 1 or y}or'resized'end;x,y=wanted,tonumber(permitted)if u then z=y end;a('ZREM',n,'')if B>0 then begin()move(channels,channel,believes)end;finish()return'resized'end;return{resize()}`,
}
