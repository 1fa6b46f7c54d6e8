// Generated from ../resize.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const resize: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, wanted: string, permitted: string]> = {
  sha1: '33d6b715577bc58874c590ea1b25d5f71c815b9d',
  text: turnsPart + `channels,believes,channel,wanted,permitted=unpack(ARGV)local function resize()local failed=open(0,'')if failed then return{'failed',failed.err}end;local other=s.token and wanted~='exclusive'and'exclusive'or s.kind~=wanted and s.kind;if other or not s.kind and not s.isShared then finish()return other and{'kind',other,s.token and 1 or s.capacity}or'resized'end;s.kind,s.capacity=wanted,tonumber(permitted)if s.token then s.held=s.capacity end;a('ZREM',o,'')if s.waiting>0 then G()J(channels,channel,believes)end;finish()if s.hasMore then announce(channel)end;return'resized'end;return{resize()}`,
}
