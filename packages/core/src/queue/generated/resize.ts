// Generated from ../resize.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const resize: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, wanted: string, permitted: string]> = {
  sha1: 'da030699b242f78ceaa67072dde15b6d5c0e2045',
  text: turnsPart + `channels,believes,channel,wanted,permitted=unpack(ARGV)local function resize()local failed=open(0,'')if failed then return{'failed',failed.err}end;local other=r.token and wanted~='exclusive'and'exclusive'or r.kind~=wanted and r.kind;if other or not r.kind and not r.isShared then finish()return other and{'kind',other,r.token and 1 or r.capacity}or'resized'end;r.kind,r.capacity=wanted,tonumber(permitted)if r.token then r.held=r.capacity end;a('ZREM',n,'')if r.waiting>0 then F()I(channels,channel,believes)end;finish()return'resized'end;return{resize()}`,
}
