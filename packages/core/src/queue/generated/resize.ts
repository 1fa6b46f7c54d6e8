// Generated from ../resize.lua; run `pnpm generate`.
import type { Script } from '../../redis/scripts/script.ts'
import { turnsPart } from './turns.part.ts'

export const resize: Script<[channels: string, believes: string], [lock: string, fences: string, queue: string, waiters: string, inboxes: string, state: string], [channel: string, wanted: string, permitted: string]> = {
  sha1: '57826575c85198f1ee913daba14b73ae95b01386',
  text: turnsPart + `channels,believes,channel,wanted,permitted=unpack(ARGV)local function resize()local I=G(0,'')if I then return{'failed',I.err}end;local other=r.token and wanted~='exclusive'and'exclusive'or r.kind~=wanted and r.kind;if other or not r.kind and not r.isShared then finish()return other and{'kind',other,r.token and 1 or r.capacity}or'resized'end;r.kind,r.capacity=wanted,tonumber(permitted)if r.token then r.held=r.capacity end;a('ZREM',n,'')if r.waiting>0 then begin()move(channels,channel,believes)end;finish()return'resized'end;return{resize()}`,
}
